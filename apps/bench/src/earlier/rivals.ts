import type { EarlierTree } from '../harness/earlier-tree.ts'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { isOurs } from '../ours/open.ts'

/** A server under measurement whose file the earlier commit may have, too. */
type Rivalled = Pick<Contender, 'name' | 'note' | 'entry' | 'needs'>

/** What no later commit may fall below: the cost of a message then, divided by what it costs now. */
const aim = 0.97

/** Each of the servers and the same one of the earlier commit, as far as that commit has it. */
export function pairWithEarlier<Server extends Rivalled>(
  servers: readonly Server[],
  earlier: EarlierTree,
): readonly (Server & { readonly against?: string; readonly aim?: number })[] {
  return servers.flatMap(server => {
    const entry = earlier.find(server.entry)
    const hasAll = (server.needs ?? []).every(file => earlier.find(file))
    if (!entry || !hasAll) return []
    const name = `${server.name}, ${earlier.commit}`
    return [server, { ...server, name, note: `the same at ${earlier.commit}`, entry, against: server.name, aim }]
  })
}

/** The case with our own servers only, each beside the one of the earlier commit; without contenders when it has none of them. */
export function rivalCase(benchCase: BenchCase, earlier: EarlierTree): BenchCase {
  return { ...benchCase, contenders: pairWithEarlier(benchCase.contenders.filter(isOurs), earlier) }
}
