# SPDX-License-Identifier: GPL-2.0-only
#
# hsunwind: `make help` lists the targets.

VERSION := $(shell cat VERSION)
KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
DESTDIR ?=

export PREFIX DESTDIR

.PHONY: all tools modules install install-tools modules_install check \
	check-debug soak demo setup clean lint fuzz help

all: tools modules

tools:
	$(MAKE) -C userspace

# The module is built against any kernel's headers: make KDIR=...
modules:
	@test -e $(KDIR)/Makefile || { \
		echo "make: no kernel headers at $(KDIR): install linux-headers-$$(uname -r), or give KDIR=" >&2; \
		exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

install: install-tools modules_install

install-tools: tools
	$(MAKE) -C userspace install

modules_install: modules
	$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(DESTDIR) \
		INSTALL_MOD_DIR=updates modules_install
	$(if $(DESTDIR),,depmod -a)

# Debian packages that building and testing needs; root or sudo.
setup:
	selftests/setup

check: setup
	selftests/run

# Under a kernel that looks for bugs; about an hour.
check-debug: setup
	selftests/vm/selftest --debug
	selftests/run kselftest-debug owners-debug unload-debug

# MINUTES of sampling at the highest rate, under the same kernel.
MINUTES ?= 30

soak: setup
	selftests/kselftest/vm --debug soak=$(MINUTES)

demo: setup
	selftests/demo/run

# For long: RUNS=100000000, FUZZ=walk
RUNS ?= 10000000
FUZZ ?= walk image elf cli

fuzz: setup
	selftests/fuzz/long -n $(RUNS) $(FUZZ)

lint: setup
	selftests/lint

clean:
	$(MAKE) -C userspace clean
	$(MAKE) -C selftests clean
	if [ -e $(KDIR)/Makefile ]; then \
		$(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

help:
	@echo 'make                 build the tools and the kernel module'
	@echo 'make tools           build the tools only'
	@echo 'make modules         build the module only; KDIR=<kernel build folder>'
	@echo 'make install         install both; PREFIX, DESTDIR, KDIR'
	@echo 'make check           install what is missing, then run all tests'
	@echo 'make check-debug     test the module in a kernel that looks for bugs'
	@echo 'make soak            the same for long: MINUTES=<number>'
	@echo 'make demo            the same, then show Haskell stacks from perf in a VM'
	@echo 'make lint            static checks'
	@echo 'make fuzz            fuzz the core and the tools; RUNS=<number> FUZZ=<targets>'
	@echo 'make clean           remove what was built'
