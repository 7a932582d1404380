# Read by the assembler before what GCC makes of a file of the program: puts the hooks of plain accesses, and of a
# function's begin and end, into the program's code in place of their calls. Anything but the usual case is a call
# of the program's part of the tracer (hooks.c), out of the way. .Lsubstrata_first numbers the file's first site.

	.set .Lsubstrata_site, 0

	.macro call target:vararg
	.set .Lsubstrata_is_inlined, 0
	.irp access, read, write
	.irp name, \access, unaligned_\access, volatile_\access, unaligned_volatile_\access
	.irp size, 1, 2, 4, 8, 16
	.ifc \target, __tsan_\name\size@PLT
	substrata_access \access\size
	.endif
	.ifc \target, __tsan_\name\size
	substrata_access \access\size
	.endif
	.endr
	.endr
	.endr
	.ifc \target, __tsan_func_entry@PLT
	substrata_entry
	.endif
	.ifc \target, __tsan_func_entry
	substrata_entry
	.endif
	.ifc \target, __tsan_func_exit@PLT
	substrata_exit
	.endif
	.ifc \target, __tsan_func_exit
	substrata_exit
	.endif
	.if .Lsubstrata_is_inlined == 0
	{load} call \target
	.endif
	.endm

# The thread's table to rax, the address of the hook's end to a register, its key to rdx. To that end where nothing asks
# for the thread's accesses. NUMAchine's model knows these instructions (components/numachine/code_blocks.cpp).
	.macro substrata_next_site after, end
	.set .Lsubstrata_is_inlined, 1
	.set .Lsubstrata_site, .Lsubstrata_site + 1
	.set .Lsubstrata_slot, (.Lsubstrata_first + .Lsubstrata_site) & 8191
	mov substrata_memory_salt(%rip), %rdx
	cmp %rdx, %fs:substrata_memory_idle@tpoff
	je \after
	mov %fs:substrata_memory_current@tpoff, %rax
	lea \after(%rip), %\end
	xor %\end, %rdx
	.endm

# The address is in rdi. A hook may change what a function may.
	.macro substrata_access name
	substrata_next_site .Lsubstrata_after\@, rcx
	cmp %rdx, 64 * .Lsubstrata_slot + 64(%rax)
	jne .Lsubstrata_other\@
	mov %rdi, %rdx
	sub 64 * .Lsubstrata_slot + 72(%rax), %rdx
	cmp 64 * .Lsubstrata_slot + 80(%rax), %rdx
	jae .Lsubstrata_other\@
	addq $1, 64 * .Lsubstrata_slot + 88(%rax)
.Lsubstrata_after\@:
	.subsection 1
.Lsubstrata_other\@:
	mov %rcx, %rsi
	mov $.Lsubstrata_slot, %edx
	{load} call substrata_memory_\name
	jmp .Lsubstrata_after\@
	.subsection 0
	.endm

	.macro substrata_entry
	substrata_next_site .Lsubstrata_after\@, rdi
	cmp %rdx, 64 * .Lsubstrata_slot + 64(%rax)
	jne .Lsubstrata_other\@
	cmpl $0, substrata_memory_times(%rip)
	jne .Lsubstrata_other\@
	addq $1, 64 * .Lsubstrata_slot + 88(%rax)
.Lsubstrata_after\@:
	.subsection 1
.Lsubstrata_other\@:
	mov $.Lsubstrata_slot, %esi
	{load} call substrata_memory_entry
	jmp .Lsubstrata_after\@
	.subsection 0
	.endm

	.macro substrata_exit
	.set .Lsubstrata_is_inlined, 1
	cmpl $0, substrata_memory_times(%rip)
	jne .Lsubstrata_other\@
.Lsubstrata_after\@:
	.subsection 1
.Lsubstrata_other\@:
	{load} call __tsan_func_exit
	jmp .Lsubstrata_after\@
	.subsection 0
	.endm
