import { fork } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { describeTestConfig, gatewayOrigin, testIntakeSecret } from '../setup/gateway.ts'
import { findFreePort, untilListening } from '../setup/gateway-process.ts'
import type { RunFunction } from './coverage.ts'

export const repository = fileURLToPath(new URL('../../../../', import.meta.url))
const program = join(repository, 'apps/gateway/bin/postern.mjs')
const coverage = new URL('./coverage.ts', import.meta.url).href
const sources = /^(packages\/[^/]+|apps\/gateway)\/src\//
const chatToken = 'chat-token-of-the-tests'

/** `postern start` in a process of its own whose calls are counted; its peers are in this process and are not. */
export interface CountedGateway {
  readonly simulation: Simulation
  /** Posts one message of a person to the chat and reads the run to its end. */
  runChat(content: string): Promise<string>
  /** The functions of our sources that ran since the last call: `<path>:<name>:<offset>` to path. */
  takeFunctions(): Promise<ReadonlyMap<string, string>>
  close(): Promise<void>
}

export async function openCountedGateway(): Promise<CountedGateway> {
  const simulation = await openSimulation()
  const directory = mkdtempSync(join(tmpdir(), 'postern-path-'))
  const [port, smtpPort] = [await findFreePort(), await findFreePort()]
  const config = describeTestConfig(simulation, directory, {
    listen: { port },
    email: { listen: { port: smtpPort, protocol: 'smtp' } },
    web: { enabled: true, trace: false, auth: { tokens: [{ name: 'ann', sha256: hash('sha256', chatToken) }] } },
    log: { level: 'info' },
  })
  const configPath = join(directory, 'postern.config.json')
  writeFileSync(configPath, JSON.stringify(config))
  const child = fork(program, ['start', '--config', configPath], {
    execArgv: ['--import', coverage],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  await untilListening(child)
  simulation.connectGateway({ origin: gatewayOrigin, port, smtpPort, intakeSecret: testIntakeSecret })
  let runs = 0
  return {
    simulation,
    async runChat(content) {
      runs += 1
      const messages = [{ id: `message-${runs}`, role: 'user', content }]
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/agent/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${chatToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: `thread-${runs}`, runId: `run-${runs}`, messages }),
      })
      return answer.text()
    },
    async takeFunctions() {
      const answer = once(child, 'message')
      child.send('take')
      const [functions] = (await answer) as [readonly RunFunction[]]
      const named = functions.map(({ url, name, offset }) => {
        const path = relative(repository, fileURLToPath(url))
        return [`${path}:${name}:${offset}`, path] as const
      })
      return new Map(named.filter(([, path]) => sources.test(path)))
    },
    async close() {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      await simulation.close()
    },
  }
}
