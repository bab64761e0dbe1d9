// Runs the gateway with a monitor of event loop delay.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { benchIntakeSecret } from '../mail/case.ts'
import type { StallOrder, StallSetup } from '../orders/stall.ts'
import { agents } from '../orders/stall.ts'
import { readTurns } from '../ours/agents/count.ts'
import { findAgentModule, openBenchGateway } from '../ours/open.ts'
import { serveMeasured } from '../servers/child.ts'

/** Runs the gateway with a monitor that reports how long its event loop was blocked. */
await serveMeasured<StallSetup>(async ({ dns }) => {
  const config = {
    agents: Object.fromEntries(agents.map(name => [name, { use: findAgentModule('silent') }])),
    default_agent: agents[0],
    email: { intake: { secret: benchIntakeSecret }, answer_bcc: true },
    network: { dns },
  }
  const { gateway, close } = await openBenchGateway(config)
  const [http] = await gateway.start()
  const watch = monitorEventLoopDelay({ resolution: 1 })
  return {
    port: http?.port ?? 0,
    handled: readTurns,
    async work(input) {
      const { kind } = input as StallOrder
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
