// Runs a gateway in a forked process, with a module loaded before it.
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { findFreePort } from '@postern/testing/free-port'
import { describeTestConfig, gatewayOrigin, testIntakeSecret } from './gateway.ts'
import { untilListening } from './gateway-process.ts'

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))

/** A gateway (`postern start`) in its own process, with a module loaded before it. Its peers run in this process. */
interface ForkedGateway {
  readonly simulation: Simulation
  /** The folder of its data and its configuration. */
  readonly directory: string
  readonly port: number
  readonly child: ChildProcess
  close(): Promise<void>
}

/** Opens the gateway. `preload` is the URL of the module, and `settings` are added to those of the tests. */
export async function openForkedGateway(preload: string, settings: object): Promise<ForkedGateway> {
  const simulation = await openSimulation()
  const directory = mkdtempSync(join(tmpdir(), 'postern-forked-'))
  const [port, smtpPort] = [await findFreePort(), await findFreePort()]
  const config = describeTestConfig(simulation, directory, {
    listen: { port },
    email: { listen: { port: smtpPort, protocol: 'smtp' } },
    log: { level: 'info' },
    ...settings,
  })
  const configPath = join(directory, 'postern.config.json')
  writeFileSync(configPath, JSON.stringify(config))
  const child = fork(program, ['start', '--config', configPath], {
    execArgv: ['--import', preload],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  await untilListening(child)
  simulation.connectGateway({ origin: gatewayOrigin, port, smtpPort, intakeSecret: testIntakeSecret })
  return {
    simulation,
    directory,
    port,
    child,
    async close() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      await simulation.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
