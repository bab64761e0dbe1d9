// Pairs each server of the bench with the same server of an earlier commit.
import type { Bound } from '../aims/bound.ts'
import type { EarlierTree } from '../harness/earlier-tree.ts'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { isOurs } from '../ours/open.ts'

/** A server under measurement whose file the earlier commit may have, too. */
type ComparableServer = Pick<Contender, 'name' | 'note' | 'entry' | 'requiredFiles'>

/** The lower bound for every later commit: the cost of a message at the earlier commit, divided by the present cost. */
const ratioBound: Bound = { atLeast: 0.97 }

/** Pairs each server with the same one of the earlier commit, if that commit has it. */
export function pairWithEarlierCommit<Server extends ComparableServer>(
  servers: readonly Server[],
  earlier: EarlierTree,
): readonly (Server & { readonly referenceName?: string; readonly aim?: Bound })[] {
  return servers.flatMap(server => {
    const entry = earlier.findEntry(server.entry)
    const hasAll = (server.requiredFiles ?? []).every(file => earlier.findEntry(file))
    if (!entry || !hasAll) return []
    const name = `${server.name}, ${earlier.commit}`
    return [
      server,
      { ...server, name, note: `the same at ${earlier.commit}`, entry, referenceName: server.name, aim: ratioBound },
    ]
  })
}

/**
 * Returns the case with only our own servers, each compared with the one of the earlier commit. It has no contenders if that commit has none of them.
 */
export function compareWithEarlier(benchCase: BenchCase, earlier: EarlierTree): BenchCase {
  return { ...benchCase, contenders: pairWithEarlierCommit(benchCase.contenders.filter(isOurs), earlier) }
}
