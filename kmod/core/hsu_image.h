/* SPDX-License-Identifier: GPL-2.0-only */
/* Look-up in a validated image; private to the core. */
#ifndef HSU_IMAGE_H
#define HSU_IMAGE_H

#include "hsu_core.h"

static inline bool hsu_is_haskell(const struct hsunwind_rule *rule)
{
	return (rule->kind >= HSUNWIND_RULE_HS_SP &&
		rule->kind <= HSUNWIND_RULE_HS_END) ||
	       rule->kind == HSUNWIND_RULE_HS_SCAN ||
	       rule->kind == HSUNWIND_RULE_HS_SAVED;
}

/**
 * hsu_image_rule() - the rule in force at a code address
 * @img: a validated image.
 * @pc: address relative to the image's base.
 *
 * Return: the rule, or NULL if @pc lies before the first row.
 */
const struct hsunwind_rule *hsu_image_rule(const struct hsu_image *img, u32 pc);

#endif /* HSU_IMAGE_H */
