import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openGateway } from 'postern'
import { parseConfig } from 'postern/config'
import { createLog } from 'postern/log'
import { serveMeasured } from '../harness/server-child.ts'
import { readTurns } from './agents/count.ts'
import type { GatewaySetup } from './describe.ts'

/** Counted as in production, but never reached: a load generator is one single, very busy peer. */
const unreachable = 1_000_000_000

/** The gateway as `postern start` runs it, with its log at the production level, on the embedded store. */
await serveMeasured<GatewaySetup>(async ({ origin, tree }) => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-bench-'))
  const agentModule = (name: string) => fileURLToPath(new URL(`./agents/${name}.ts`, import.meta.url))
  const config = parseConfig({
    origin,
    listen: { port: 0 },
    data: directory,
    agents: { silent: { use: agentModule('silent') }, brief: { use: agentModule('brief') } },
    default_agent: 'silent',
    limits: { per_address: unreachable, per_host: unreachable, per_identity: unreachable },
    ...tree,
  })
  const log = createLog({ level: config.log.level, readable: false })
  const gateway = await openGateway(config, { baseDir: directory, log, operatorToken: 'bench-operator-token' })
  const [http] = await gateway.start()
  return {
    port: http?.port ?? 0,
    handled: readTurns,
    close: async () => {
      await gateway.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
})
