import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { DoctorReport } from '@postern/operator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { jpeg, openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests cover files of people on other hosts: in a project with accepted signed URLs, and in a bucket that speaks S3.

const project = 'https://xxx.supabase.co'
const jwtSecret = 'the secret of that project, long enough'
const seedLocation = { bucket: 'agent-files', path: 'agent-inputs/u/t/r/img.jpg' }

interface StorageRequest {
  readonly host: string
  readonly method: string
  readonly url: string
  readonly body: Buffer
}

/** Opens a server that answers for any host name, and remembers every request. */
async function openHost(
  answer: (request: StorageRequest) => { readonly status: number; readonly body?: Uint8Array | undefined },
) {
  const requests: StorageRequest[] = []
  const server = createServer(async (request, response) => {
    const storageRequest = {
      host: String(request.headers.host),
      method: String(request.method),
      url: String(request.url),
    }
    requests.push({ ...storageRequest, body: await readAll(request) })
    const { status, body } = answer(requests.at(-1) as StorageRequest)
    response.writeHead(status).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, asked: requests, close: () => server.close().closeAllConnections() }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const encodePath = (path: string) => path.split('/').map(encodeURIComponent).join('/')

function signUrl(
  location: typeof seedLocation,
  { secret = jwtSecret, from = project, seconds = 60, ends = true } = {},
) {
  const exp = Math.floor(Date.now() / 1000) + seconds
  const claims = { url: `${location.bucket}/${location.path}`, ...(ends && { exp }) }
  const signedText = [{ alg: 'HS256' }, claims]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const token = `${signedText}.${createHmac('sha256', secret).update(signedText).digest('base64url')}`
  return `${from}/storage/v1/object/sign/${location.bucket}/${encodePath(location.path)}?token=${token}`
}

/** Returns the original format's example, with this address. */
const seedBody = (url: string, part: object = { type: 'binary', mimeType: 'image/jpeg', url }) => ({
  threadId: 'thread-123',
  runId: uniqueName('run'),
  messages: [{ id: 'msg-1', role: 'user', content: [{ type: 'text', text: '帮我看看这张图' }, part] }],
})

describe('a project with its own signed URLs', () => {
  let web: WebGateway
  let host: Awaited<ReturnType<typeof openHost>>

  beforeAll(async () => {
    host = await openHost(() => ({ status: 200, body: jpeg }))
    web = await openWebGateway({ supabase: { project, jwt_secret: jwtSecret } }, ({ network }) => {
      Object.assign(network.loopback, { 'xxx.supabase.co': host.port, 'elsewhere.example': host.port })
      return {}
    })
  })
  afterAll(async () => {
    await web.close()
    host.close()
  })

  const postRun = async (body: object) => {
    const response = await web.postRun(body)
    expect(response.status).toBe(200)
    return response.text()
  }

  test('stores the same attachment for the original example and for a part of AG-UI 1.0 (C-02, C-03, C-04)', async () => {
    const url = signUrl(seedLocation)
    const image = { type: 'image', source: { type: 'url', value: url, mimeType: 'image/jpeg' } }
    const bodies = [seedBody(url), { ...seedBody(url, image), threadId: 'thread-124' }]
    for (const body of bodies) {
      await postRun(body)
      const [first] = await web.readHistory(body.threadId)
      expect(first).toEqual({
        id: 'msg-1',
        seq: 1,
        role: 'user',
        content: '帮我看看这张图',
        metadata: { run_id: body.runId, user_message_attachments: { ...seedLocation, mime_type: 'image/jpeg' } },
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
      })
    }
    // The file is fetched once and stored, so the project may delete it.
    expect(host.asked).toHaveLength(1)
    const { json } = await web.requestJson(
      'GET',
      `/api/v1/agent/attachments/signed-url?${new URLSearchParams(seedLocation)}`,
    )
    expect(json).toMatchObject(seedLocation)
    expect(Buffer.from(await (await fetch(web.local(json.url))).arrayBuffer())).toEqual(jpeg)
    const otherResponse = await web.requestJson(
      'GET',
      `/api/v1/agent/attachments/signed-url?${new URLSearchParams(seedLocation)}`,
      undefined,
      'bob',
    )
    expect([otherResponse.status, otherResponse.json.detail]).toEqual([
      404,
      'Cannot sign attachment: you have no attachment at this location',
    ])
  })

  test('runs with the original’s invalid token, and shows the file as a link (C-02)', async () => {
    const countBefore = host.asked.length
    const url = `${project}/storage/v1/object/sign/agent-files/agent-inputs/u/t/r/img.jpg?token=xxx`
    const text = await postRun({ ...seedBody(url), threadId: uniqueName('thread') })
    expect(text).toContain('RUN_FINISHED')
    expect(host.asked).toHaveLength(countBefore)
  })

  test.each(['a b/ü/帮.jpg', 'x%2Fy/100%.jpg', "quote'(1)/+&=.jpg"])(
    'keeps the path %s in both directions (C-08)',
    async path => {
      const threadId = uniqueName('thread')
      const location = { bucket: 'agent-files', path }
      await postRun({ ...seedBody(signUrl(location)), threadId })
      const [first] = await web.readHistory(threadId)
      expect(first?.metadata.user_message_attachments).toEqual({ ...location, mime_type: 'image/jpeg' })
      expect(host.asked.at(-1)?.url.split('?')[0]).toBe(`/storage/v1/object/sign/agent-files/${encodePath(path)}`)
      const { json } = await web.requestJson(
        'GET',
        `/api/v1/agent/attachments/signed-url?${new URLSearchParams(location)}`,
      )
      expect([json.bucket, json.path]).toEqual([location.bucket, location.path])
      expect((await fetch(web.local(json.url))).status).toBe(200)
    },
  )

  test('never causes a fetch of an invalid URL: forged, expired, endless, redirected, or of another path or host (C-09)', async () => {
    const countBefore = host.asked.length
    const validUrl = signUrl({ ...seedLocation, path: 'a/new.jpg' })
    const invalidUrls = [
      signUrl(seedLocation, { secret: 'another secret, which is just as long' }),
      signUrl({ ...seedLocation, path: 'late.jpg' }, { seconds: -5 }),
      signUrl({ ...seedLocation, path: 'endless.jpg' }, { ends: false }),
      validUrl.replace('/sign/agent-files/', '/sign/other-files/'),
      signUrl({ ...seedLocation, path: 'b.jpg' }, { from: 'https://elsewhere.example' }),
      validUrl.replace('/new.jpg', '/other.jpg'),
      validUrl.replace('a/new.jpg', 'a/../new.jpg'),
      validUrl.replace('a/new.jpg', 'a/%2e%2e/new.jpg'),
      validUrl.replace(project, `${project}:444`),
      validUrl.replace(project, 'https://xxx.supabase.co@elsewhere.example'),
    ]
    for (const url of invalidUrls) {
      const threadId = uniqueName('thread')
      expect(await postRun({ ...seedBody(url), threadId })).toContain('RUN_FINISHED')
      expect((await web.readHistory(threadId))[0]?.metadata).not.toHaveProperty('user_message_attachments')
    }
    expect(host.asked).toHaveLength(countBefore)
  })

  test('hides a person’s file from others with the same URL (C-07)', async () => {
    const url = signUrl(seedLocation)
    const threadId = uniqueName('thread')
    const response = await web.postRun({ ...seedBody(url), threadId }, {}, 'bob')
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('RUN_FINISHED')
    const [newest] = await web.gateway.messages()
    const { message } = await web.gateway.readMessage(`#${newest?.message}`)
    expect(message.parts).toEqual([
      expect.objectContaining({ kind: 'text', content: '帮我看看这张图' }),
      { kind: 'link', url: url.split('?')[0] },
    ])
  })
})

test('an S3 bucket stores uploads, serves them by signed URLs, and deletes them', async () => {
  const { web, kept, down, close } = await openBucketGateway()
  try {
    const file = await web.upload(jpeg, { fileName: 'my picture (1).jpg' })
    expect([...kept]).toEqual([[`/files/${file.bucket}/${encodePath(file.path)}`, jpeg]])
    const fileResponse = await fetch(web.local(file.url))
    expect([fileResponse.headers.get('content-type'), Buffer.from(await fileResponse.arrayBuffer())]).toEqual([
      'image/jpeg',
      jpeg,
    ])
    const threadId = uniqueName('thread')
    await web.runChat(
      [
        { type: 'text', text: 'look' },
        { type: 'binary', mimeType: 'image/jpeg', url: file.url },
      ],
      { threadId },
    )
    const { bucket: name_, path, mime_type } = file
    const rows = await web.readHistory(threadId)
    expect(rows[0]?.metadata.user_message_attachments).toEqual({ bucket: name_, path, mime_type })
    expect(rows[1]?.content).toBe(`image/jpeg ${jpeg.length}`)
    const query = new URLSearchParams({ bucket: name_, path })
    expect((await web.requestJson('DELETE', `/api/v1/agent/attachments?${query}`)).json).toEqual({ deleted: true })
    expect(kept.size).toBe(0)
    // The file is refused even if the bucket still has it, or does not reveal what it lacks.
    kept.set(`/files/${name_}/${encodePath(path)}`, jpeg)
    expect((await fetch(web.local(file.url))).status).toBe(404)
    down.add('GET')
    expect((await fetch(web.local(file.url))).status).toBe(404)
  } finally {
    await close()
  }
})

test('a second request deletes a file that failed because the bucket was unreachable', async () => {
  const { web, kept, down, close } = await openBucketGateway()
  const showFile = async () => {
    const file = await web.upload(jpeg)
    const threadId = uniqueName('thread')
    await web.runChat([{ type: 'binary', mimeType: 'image/jpeg', url: file.url }], { threadId })
    return { file, threadId }
  }
  const forgetOwner = async () => {
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ owner: `web:${JSON.stringify([gatewayOrigin, 'ann'])}` })
    const response = await fetch(`${web.gateway.url()}/operator/api/owners/forget`, { method: 'POST', headers, body })
    return { status: response.status, json: (await response.json()) as object }
  }
  const ways: readonly ((attachment: Awaited<ReturnType<typeof showFile>>) => Promise<{ status: number }>)[] = [
    ({ threadId }) => web.requestJson('DELETE', `/api/v1/agent/threads/${threadId}`),
    ({ file: { bucket, path } }) =>
      web.requestJson('DELETE', `/api/v1/agent/attachments?${new URLSearchParams({ bucket, path })}`),
    forgetOwner,
  ]
  try {
    for (const remove of ways) {
      const attachment = await showFile()
      down.add('DELETE')
      expect(await remove(attachment)).toMatchObject({ status: 503, json: { code: 'unavailable' } })
      expect(kept.size).toBe(1)
      down.clear()
      expect((await remove(attachment)).status).toBe(200)
      expect(kept.size).toBe(0)
    }
  } finally {
    await close()
  }
})

test('after a change of the storage, doctor fails for old files until they have moved', async () => {
  const { web, kept, storage, close } = await openBucketGateway()
  const readFiles = async () => {
    const { findings } = await web.gateway.requestOperator<DoctorReport>('/doctor?only=store')
    return findings.filter(({ id }) => id === 'store.files').map(({ verdict, message }) => `${verdict}: ${message}`)
  }
  try {
    const file = await web.upload(jpeg)
    expect(await readFiles()).toEqual(['ok: a file can be written, read and deleted'])
    const failureLine = `failure: 1 of 1 checked files are not in the present storage; the database lists 1 files of "s3 ${storage.endpoint}/files"`
    for (const change of [{}, { storage: { ...storage, bucket: 'others' } }]) {
      await web.gateway.restart({ web: { enabled: true, ...change } })
      expect(await readFiles()).toEqual([failureLine])
      expect((await fetch(web.local(file.url))).status).toBe(404)
    }
    for (const [path, bytes] of [...kept]) kept.set(path.replace('/files/', '/others/'), bytes)
    expect(await readFiles()).toEqual(['ok: a file can be written, read and deleted'])
    expect((await fetch(web.local(file.url))).status).toBe(200)
  } finally {
    await close()
  }
}, 60_000)

async function openBucketGateway() {
  const objects = new Map<string, Buffer>()
  const down = new Set<string>()
  const bucket = await openHost(({ method, url, body }) => {
    if (down.has(method)) return { status: 503 }
    if (method === 'PUT') objects.set(url, body)
    if (method === 'DELETE') return { status: objects.delete(url) ? 204 : 404 }
    return objects.has(url) ? { status: 200, body: objects.get(url) } : { status: 404 }
  })
  const endpoint = `http://127.0.0.1:${bucket.port}`
  const storage = { kind: 's3', endpoint, region: 'eu-1', bucket: 'files', access_key: 'key', secret_key: 'secret' }
  // The storage is at a loopback address that only its configuration names.
  const web = await openWebGateway({ storage })
  const close = async () => {
    await web.close()
    bucket.close()
  }
  return { web, kept: objects, down, storage, close }
}
