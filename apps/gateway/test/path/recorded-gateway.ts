// Runs a gateway that reports the functions that have run.
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Simulation } from '@postern/simulation'
import { openForkedGateway } from '../setup/forked-gateway.ts'
import type { RunFunction } from './coverage.ts'

export const repository = fileURLToPath(new URL('../../../../', import.meta.url))
const coverageModule = new URL('./coverage.ts', import.meta.url).href
const sourcePattern = /^(packages\/[^/]+|apps\/gateway)\/src\//
const chatToken = 'chat-token-of-the-tests'

/** A gateway (`postern start`) in its own process, which records the functions that run. The peers run in this process and are not recorded. */
export interface RecordedGateway {
  readonly simulation: Simulation
  /** Posts one message of a person to the chat and reads the run to its end. */
  runChat(content: string): Promise<string>
  /** Returns the functions of our sources that ran since the last call: `<path>:<name>:<offset>` to path. */
  takeRunFunctions(): Promise<ReadonlyMap<string, string>>
  close(): Promise<void>
}

export async function openRecordedGateway(): Promise<RecordedGateway> {
  const { simulation, port, child, close } = await openForkedGateway(coverageModule, {
    web: { enabled: true, trace: false, auth: { tokens: [{ name: 'ann', sha256: hash('sha256', chatToken) }] } },
  })
  let runCount = 0
  return {
    simulation,
    async runChat(content) {
      runCount += 1
      const messages = [{ id: `message-${runCount}`, role: 'user', content }]
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/agent/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${chatToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: `thread-${runCount}`, runId: `run-${runCount}`, messages }),
      })
      return response.text()
    },
    async takeRunFunctions() {
      const answer = once(child, 'message')
      child.send('take')
      const [functions] = (await answer) as [readonly RunFunction[]]
      const locations = functions.map(({ url, name, offset }) => {
        const path = relative(repository, fileURLToPath(url))
        return [`${path}:${name}:${offset}`, path] as const
      })
      return new Map(locations.filter(([, path]) => sourcePattern.test(path)))
    },
    close,
  }
}
