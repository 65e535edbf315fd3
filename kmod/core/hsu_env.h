/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The environment of the core: types, and the one operation by which it looks
 * at the sampled process. The kernel half reads with copy_from_user_nmi(),
 * which is safe in NMI and never faults a page in. The user half calls through
 * a pointer, so that tests can answer from recorded or invented memory.
 */
#ifndef HSU_ENV_H
#define HSU_ENV_H

#ifdef __KERNEL__

#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

struct hsu_env {
};

/**
 * hsu_env_read() - copy memory of the sampled process
 * @env: environment of the walk.
 * @addr: address in the sampled process, any value.
 * @dst: where to copy to.
 * @len: bytes.
 *
 * Context: any, NMI included; page faults are never taken.
 * Return: true if all @len bytes were copied.
 */
static inline bool hsu_env_read(const struct hsu_env *env, u64 addr, void *dst,
				u32 len)
{
	return copy_from_user_nmi(dst, (const void __user *)(unsigned long)addr,
				  len) == 0;
}

#else /* !__KERNEL__ */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#ifndef fallthrough
#define fallthrough __attribute__((__fallthrough__))
#endif
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

struct hsu_env {
	bool (*read)(void *ctx, u64 addr, void *dst, u32 len);
	void *ctx;
};

static inline bool hsu_env_read(const struct hsu_env *env, u64 addr, void *dst,
				u32 len)
{
	return env->read(env->ctx, addr, dst, len);
}

#endif /* __KERNEL__ */
#endif /* HSU_ENV_H */
