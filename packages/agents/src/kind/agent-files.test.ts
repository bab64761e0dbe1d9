import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGuardedFetch } from '@postern/http'
import type { Part } from '@postern/message'
import { noLog, Unavailable, Undeliverable } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { collectAnswer } from '@postern/pipeline'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openTestAgent, testContext, testMessage } from '../../test/gateway.ts'

const secret = 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz'
const bytes = Buffer.from('%PDF-1.7 the plans')
const maxBytes = 25 * 1024 * 1024

type File = (request: IncomingMessage, response: ServerResponse) => void

const servePdf: File = (_request, response) =>
  void response.writeHead(200, { 'content-type': 'application/pdf; version=1.7' }).end(bytes)

/** Opens a server that answers a webhook with `reply`, and has files. */
async function openServer(reply: (origin: string) => object, files: Readonly<Record<string, File>>) {
  const fetched: string[] = []
  let origin = ''
  const server = createServer((request, response) => {
    if (request.url === '/hook') response.writeHead(200).end(JSON.stringify(reply(origin)))
    else {
      fetched.push(`${request.method} ${request.url}`)
      const file = files[request.url ?? '']
      if (file) file(request, response)
      else response.writeHead(404).end()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, fetched }
}

const fileAt = (url: string, overrides: object = {}) =>
  ({ kind: 'file', bytes_ref: { kind: 'url', url }, ...overrides }) as Part

async function callWebhook(
  reply: (origin: string) => object,
  files: Readonly<Record<string, File>> = { '/plans.pdf': servePdf },
) {
  const server = await openServer(reply, files)
  const { agent } = await openTestAgent({ use: 'webhook', url: `${server.origin}/hook`, secret })
  const answer = await collectAnswer(await agent.handle(testMessage('hello'), testContext()), () => undefined)
  return { ...server, answer }
}

const attached = { kind: 'inline', data_base64: bytes.toString('base64') }

describe('a file at the own origin of an agent', () => {
  test('arrives with the answer, with the name and type in its URL', async () => {
    const { answer, fetched } = await callWebhook(origin => ({ parts: [fileAt(`${origin}/plans.pdf`)] }))
    expect(answer?.parts).toEqual([
      { kind: 'file', name: 'plans.pdf', mime: 'application/pdf', size: bytes.length, bytes_ref: attached },
    ])
    expect(fetched).toEqual(['GET /plans.pdf'])
  })

  test('stays a link if the peer named it and the agent repeats it without the mark', async () => {
    const server = await openServer(origin => ({ parts: [fileAt(`${origin}/secret`)] }), { '/secret': servePdf })
    const { agent } = await openTestAgent({ use: 'webhook', url: `${server.origin}/hook`, secret })
    const url = `${server.origin}/secret`
    const parts = [{ kind: 'file', bytes_ref: { kind: 'url', url, foreign: true } }] satisfies Part[]
    const { sender, received_at: timestamp } = testMessage('hello')
    const earlierTurn = { role: 'user', sender, parts, timestamp } as const
    for (const members of [{ parts }, { history: [earlierTurn] }]) {
      const answer = await agent.handle(testMessage('hello', members), testContext())
      expect((await collectAnswer(answer, () => undefined))?.parts).toEqual([fileAt(url)])
    }
    expect(server.fetched).toEqual([])
  })

  test('keeps the agent’s name, type and alt text', async () => {
    const ownArtifact = {
      kind: 'artifact',
      name: 'Pläne.pdf',
      mime: 'application/x-plan',
      description: 'Plans',
      size: 1,
    }
    const path = '/a%20b%FF.pdf'
    const { answer } = await callWebhook(
      origin => ({ parts: [{ ...fileAt(`${origin}/plans.pdf`), ...ownArtifact }, fileAt(`${origin}${path}`)] }),
      { '/plans.pdf': servePdf, [path]: servePdf },
    )
    expect(answer?.parts).toMatchObject([
      { ...ownArtifact, size: bytes.length, bytes_ref: attached },
      { name: 'a%20b%FF.pdf', bytes_ref: attached },
    ])
  })

  test('arrives with posts and edits too', async () => {
    const { answer } = await callWebhook(origin => {
      const parts = [fileAt(`${origin}/plans.pdf`)]
      return { text: 'Done.', acts: [{ act: 'post', parts }, { act: 'edit', response: 'r1', parts }, { act: 'like' }] }
    })
    const parts = [{ name: 'plans.pdf', bytes_ref: attached }]
    expect(answer?.acts).toMatchObject([{ parts }, { parts }, { act: 'like' }])
  })

  test('stays a link if it is elsewhere or a stranger chose it', async () => {
    const { answer, fetched, origin } = await callWebhook(origin => ({
      parts: [
        fileAt('https://files.test/plans.pdf'),
        { kind: 'file', bytes_ref: { kind: 'url', url: `${origin}/plans.pdf`, foreign: true } },
      ],
    }))
    expect(answer?.parts).toMatchObject([
      { bytes_ref: { url: 'https://files.test/plans.pdf' } },
      { bytes_ref: { url: `${origin}/plans.pdf` } },
    ])
    expect(fetched).toEqual([])
  })

  test.each<[what: string, file: File, problem: RegExp]>([
    ['it is missing', (_, response) => response.writeHead(404).end(), /its server answered 404 at http:\S+$/],
    [
      'it declares too many bytes',
      (_, response) => void response.writeHead(200, { 'content-length': String(maxBytes + 1) }).write('x'),
      /Cannot fetch: answer is too large: 26214401 bytes, more than 26214400$/,
    ],
    [
      'it has too many bytes',
      (_, response) => response.writeHead(200).end(Buffer.alloc(maxBytes + 1)),
      /Cannot fetch: answer is too large: more than 26214400 bytes$/,
    ],
  ])('fails its turn if %s', async (_what, file, problem) => {
    const pendingAnswer = callWebhook(origin => ({ parts: [fileAt(`${origin}/plans.pdf`)] }), { '/plans.pdf': file })
    await expect(pendingAnswer).rejects.toThrow(Undeliverable)
    await expect(pendingAnswer).rejects.toThrow(/^Cannot attach the file "plans\.pdf": /)
    await expect(pendingAnswer).rejects.toThrow(problem)
  })

  test('fails its turn if there are too many files or bytes', async () => {
    const half: File = (_, response) => response.writeHead(200).end(Buffer.alloc(maxBytes / 2 + 1))
    const parts = (count: number) => (origin: string) => ({ parts: Array(count).fill(fileAt(`${origin}/half`)) })
    await expect(callWebhook(parts(2), { '/half': half })).rejects.toThrow(
      'the files of the answer have 26214402 bytes, more than 26214400',
    )
    const none: File = (_, response) => response.writeHead(200).end()
    await expect(callWebhook(parts(17), { '/half': none })).rejects.toThrow('the answer has more than 16 files')
  })

  test('postpones its turn if its server is unreachable', async () => {
    const busy: File = (_, response) => response.writeHead(503, { 'retry-after': '7' }).end()
    const pendingAnswer = callWebhook(origin => ({ parts: [fileAt(`${origin}/plans.pdf`)] }), { '/plans.pdf': busy })
    await expect(pendingAnswer).rejects.toThrow(Unavailable)
    await expect(pendingAnswer).rejects.toMatchObject({
      message: expect.stringMatching(/^The server of the file "plans\.pdf" answered 503 at http:\S+$/),
      retryAfter: 7,
    })
  })
})

describe('a file of an a2a agent', () => {
  async function callPeer(card: string, partsOf: (origin: string) => Part[], log = noLog) {
    const { origin, fetched } = await openServer(() => ({}), { '/plans.pdf': servePdf })
    // The public host of these tests resolves to the same server.
    const loopback = { 'peer.test': Number(new URL(origin).port) }
    const fetchFor = (opened: string) =>
      createGuardedFetch({ loopback, allowPrivate: [opened], userAgent: 'Postern tests' })
    const { agent } = await openTestAgent({ use: 'a2a', card: card.replace('own', origin) }, { system: { fetchFor } })
    const call: AgentContext['call'] = async (_address, _parts, { onPiece } = {}) => {
      onPiece?.(partsOf(origin))
      const source = { address: card, card }
      return { parts: [], rest: partsOf(origin), status: 'completed', source }
    }
    const answer = await collectAnswer(
      await agent.handle(testMessage('hello'), testContext({ call, log })),
      () => undefined,
    )
    return { parts: answer?.parts, fetched }
  }

  test('comes from the card’s origin, in chunks and at the end', async () => {
    const { parts, fetched } = await callPeer('own/card', origin => [fileAt(`${origin}/plans.pdf`)])
    expect(parts).toMatchObject([{ bytes_ref: attached }, { bytes_ref: attached }])
    expect(fetched).toHaveLength(2)
  })

  test('stays a link if it is public and the gateway cannot load it', async () => {
    const log = { ...noLog, warn: vi.fn() }
    const file = fileAt('https://peer.test/missing.pdf')
    const { parts, fetched } = await callPeer('https://peer.test/card', () => [file], log)
    expect(parts).toEqual([file, file])
    expect(fetched).toEqual(['GET /missing.pdf', 'GET /missing.pdf'])
    expect(log.warn).toHaveBeenCalledTimes(2)
  })
})
