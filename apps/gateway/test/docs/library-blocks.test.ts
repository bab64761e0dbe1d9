import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { eventually, openTestGateway, testIntakeSecret } from '../setup/gateway.ts'
import { findBlock } from './blocks.ts'
import { libraryBlocks } from './cases.ts'
import { createDocsFolder } from './folder.ts'

const codeOf = (name: keyof typeof libraryBlocks) => findBlock(libraryBlocks[name]).code
const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** The code that the examples of docs/explanation/transcripts assume. */
const codecPreamble = `import { aguiCodec, envelopeCodec } from '@postern/transcript'
let made = 0
const thread_id = 't', at = '2026-01-02T03:04:05.000Z', newId = () => 'e' + ++made
const rows = [{ type: 'text', role: 'user', content: 'hello', payload: {}, metadata: {} }]
`

const swarmPreamble = `import { createNavigateTool, createSwarm, createSwarmBus } from '@postern/swarm'
import { createMemoryRecords, createMemoryTranscript } from '@postern/transcript'
import { randomBytes } from 'node:crypto'
const log = { debug() {}, info() {}, warn() {}, error() {} }
const system = { now: Date.now, randomBytes, sleep: async () => {}, log }
const bus = createSwarmBus({ log }), transcript = createMemoryTranscript(system), records = createMemoryRecords()
const model = { complete: async () => ({ content: 'How can I help?' }) }
const refund = { name: 'refund', description: '', parameters: {}, call: async () => {} }
`

/** Runs a program in the repository, as a reader does who has the packages. */
async function runProgram(source: string): Promise<string> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: `${root}apps/gateway`,
  })
  return stdout
}

interface CaughtWebhook {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Catches the request of a gateway to a webhook agent that shares this secret. */
async function catchWebhook(secret: string): Promise<CaughtWebhook> {
  const caught = Promise.withResolvers<CaughtWebhook>()
  const server = createServer(async (request, response) => {
    caught.resolve({ headers: request.headers, body: await text(request) })
    response.setHeader('content-type', 'application/json').end('{"text":"thanks"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const gateway = await openTestGateway(() => ({ agents: { py: { use: 'webhook', url, secret } } }))
  try {
    await gateway.simulation.send({ via: 'activitypub', to: 'py', text: 'hello' })
    return await caught.promise
  } finally {
    await gateway.close()
    server.close()
  }
}

describe('libraries in the docs', () => {
  it('read the output of one codec with another', async () => {
    const code = codeOf('codecs').replace('aguiCodec.write(entries)', 'const written = aguiCodec.write(entries)')
    expect(await runProgram(`${codecPreamble}${code}console.log(written[0].content)`)).toBe('hello\n')
  })

  it('run the swarm, which answers', async () => {
    const code = codeOf('swarm').replace('await complete(', 'const answer = await complete(')
    expect(await runProgram(`${swarmPreamble}${code}console.log(answer); await dispose()`)).toBe('How can I help?\n')
  })

  it('verify a genuine webhook in Python, and reject a changed one', async () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const { headers, body } = await catchWebhook(secret)
    const checkScript = `${codeOf('webhook')}
import json, sys
given = json.load(sys.stdin)
body = given["body"].encode()
print(is_genuine("${secret}", given["headers"], body), is_genuine("${secret}", given["headers"], body + b" "))`
    const python = run('python3', ['-c', checkScript])
    python.child.stdin?.end(JSON.stringify({ headers, body }))
    expect((await python).stdout).toBe('True False\n')
  })

  it('forward a mail from the mail worker, and refuse one for an unknown recipient', async () => {
    const gateway = await openTestGateway()
    try {
      const folder = createDocsFolder({
        'worker.mjs': codeOf('worker').replaceAll('https://agents.example', gateway.url()),
      })
      const { default: worker } = (await import(pathToFileURL(`${folder}/worker.mjs`).href)) as { default: MailWorker }
      const sendMessage = async (to: string) => {
        const raw = `From: ann@nodmarc.test\r\nTo: ${to}\r\nSubject: hi\r\nMessage-ID: <${to}>\r\n\r\nhello\r\n`
        const refusals: string[] = []
        const mail = { from: 'ann@nodmarc.test', to, raw, setReject: (reason: string) => void refusals.push(reason) }
        await worker.email(mail, { SECRET: testIntakeSecret })
        return refusals
      }
      expect(await sendMessage('echo@agents.test')).toEqual([])
      expect(await sendMessage('nobody@agents.test')).toEqual(['not accepted'])
      expect(await eventually(async () => (await gateway.messages()).length > 0)).toBe(true)
    } finally {
      await gateway.close()
    }
  })
})

interface MailWorker {
  email(mail: object, environment: object): Promise<void>
}
