import { openA2aCase } from './a2a/case.ts'
import { openActivityPubCase } from './activitypub/case.ts'
import type { BenchCase } from './harness/case.ts'
import { openMailCase } from './mail/case.ts'
import type { Job } from './options.ts'

/** THE LIST: a measured protocol is one line here, and its folder. */
export const openCase: Readonly<Record<Exclude<Job, 'start'>, () => Promise<BenchCase>>> = {
  activitypub: openActivityPubCase,
  a2a: openA2aCase,
  mail: openMailCase,
}
