import type { BenchCase } from '../harness/case.ts'
import type { EarlierTree } from '../harness/earlier-tree.ts'
import { isOurs } from '../ours/describe.ts'
import { pairWithEarlier } from './rivals.ts'

/** The case with our own servers only, each beside the one of the earlier commit; without contenders when it has none of them. */
export function rivalCase(benchCase: BenchCase, earlier: EarlierTree): BenchCase {
  return { ...benchCase, contenders: pairWithEarlier(benchCase.contenders.filter(isOurs), earlier) }
}
