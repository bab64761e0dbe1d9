import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import type { StallOrder, StallSetup } from '../orders/stall.ts'
import { agents, stallIntakeSecret } from '../orders/stall.ts'
import { readTurns } from '../ours/agents/count.ts'
import { openTemporaryGateway } from '../ours/open.ts'
import { serveMeasured } from '../servers/child.ts'

const silent = fileURLToPath(new URL('../ours/agents/silent.ts', import.meta.url))

/** The gateway, and a watch that says for how long nothing else could happen in it. */
await serveMeasured<StallSetup>(async ({ dns }) => {
  const tree = {
    agents: Object.fromEntries(agents.map(name => [name, { use: silent }])),
    default_agent: agents[0],
    email: { intake: { secret: stallIntakeSecret }, answer_bcc: true },
    network: { dns },
    limits: Object.fromEntries(
      ['per_address', 'per_host', 'per_identity', 'per_unverified', 'per_agent'].map(name => [name, 1e9]),
    ),
  }
  const { gateway, close } = await openTemporaryGateway(tree)
  const [http] = await gateway.start()
  const watch = monitorEventLoopDelay({ resolution: 1 })
  return {
    port: http?.port ?? 0,
    handled: readTurns,
    async work(given) {
      const { kind } = given as StallOrder
      if (kind === 'end') {
        watch.disable()
        return watch.max / 1e6
      }
      watch.reset()
      watch.enable()
      return undefined
    },
    close,
  }
})
