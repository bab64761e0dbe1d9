import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { findEvent, jpeg, openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests check what a browser page needs besides its runs, and the cost of a page that reads no answers.

const page = 'https://chat.example'
/** This conversation is longer than the buffer of any socket. */
const threadId = 'long'
let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway({ origins: [page], trace: true, limits: { runs_per_owner: 2 } })
  for (let count = 0; count < 3; count++) await web.runChat('word '.repeat(600_000), { threadId })
})
afterAll(() => web.close())

test('a page of a configured origin may read files by their signed URLs, and the Retry-After header', async () => {
  const { url } = await web.upload(jpeg)
  const fetchPage = (origin: string) => fetch(web.local(url), { headers: { origin } })
  const ownResponse = await fetchPage(page)
  expect([ownResponse.status, ownResponse.headers.get('access-control-allow-origin')]).toEqual([200, page])
  expect((await fetchPage('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
  const response = await web.requestAs('/v1/usage', { headers: { origin: page } })
  expect(response.headers.get('access-control-expose-headers')).toBe('retry-after, www-authenticate, dpop-nonce')
})

test('a caller without a credential learns which kind to send', async () => {
  const requestUsage = (headers: Record<string, string>) =>
    fetch(web.local('https://agents.test/v1/usage'), { headers })
  const [withoutToken, withWrongToken] = [await requestUsage({}), await requestUsage({ authorization: 'Bearer wrong' })]
  expect([withoutToken.status, withoutToken.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="postern"'])
  const invalid = 'Bearer realm="postern", error="invalid_token"'
  expect([withWrongToken.status, withWrongToken.headers.get('www-authenticate')]).toEqual([401, invalid])
  expect((await web.requestAs('/v1/usage')).headers.get('www-authenticate')).toBeNull()
})

test('a page may send custom headers', async () => {
  const headers = { origin: page, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-trace' }
  const response = await fetch(web.local('https://agents.test/api/v1/agent/runs'), { method: 'OPTIONS', headers })
  const allowed = ['authorization', 'dpop', 'content-type', 'accept', '*'].join(', ')
  expect([response.status, response.headers.get('access-control-allow-headers')]).toEqual([204, allowed])
  expect(response.headers.get('access-control-allow-credentials')).toBeNull()
})

test('a history with actions has pages without gaps', async () => {
  const threadId = uniqueName('thread')
  for (let count = 0; count < 3; count++) await web.runChat('tool', { threadId })
  const rows = await web.readHistory(threadId, '&include=trace')
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1))
  const loadedRows: (typeof rows)[number][] = []
  let beforeSeq: number | undefined
  do {
    const from = beforeSeq === undefined ? '' : `&before_seq=${beforeSeq}`
    const { json } = await web.requestJson(
      'GET',
      `/api/v1/agent/history?threadId=${threadId}&include=trace&limit=5${from}`,
    )
    loadedRows.unshift(...json.messages)
    beforeSeq = json.next_before_seq
  } while (beforeSeq !== undefined)
  expect(loadedRows).toEqual(rows)
  const laterRows = await web.readHistory(threadId, `&include=trace&after_seq=${rows[4]?.seq}`)
  expect(laterRows).toEqual(rows.slice(5))
})

test.each(['ftp://x.test/a', 'file:///etc/passwd', 'javascript:alert(1)', 'https://ann:secret@x.test/a'])(
  'the history omits a URL that nobody may follow (%s), and tells the page',
  async value => {
    const events = await web.runChat([{ type: 'image', source: { type: 'url', value } }])
    const warning = 'an address that is no plain http or https URL was left out'
    expect(findEvent(events, 'CUSTOM')).toMatchObject({ name: 'warning', value: warning })
  },
)

/** Sends a request, and reads the answer only until it has begun. */
async function askAndWait(head: string, body = ''): Promise<Socket> {
  const socket = await askOnly(head, body)
  await once(socket, 'readable')
  return socket
}

async function askOnly(head: string, body = ''): Promise<Socket> {
  const socket = connect(Number(new URL(web.gateway.url()).port), '127.0.0.1')
  await once(socket, 'connect')
  const headers = `host: x\r\nauthorization: Bearer token-of-ann-for-the-tests\r\ncontent-length: ${body.length}`
  socket.write(`${head} HTTP/1.1\r\n${headers}\r\n\r\n${body}`)
  return socket
}

test('a person who leaves many answers unread has to wait, while others do not', async () => {
  const path = `/api/v1/agent/history?threadId=${threadId}`
  const download = await web.requestAs(path)
  expect((await download.text()).length).toBeGreaterThan(12_000_000)
  const remainingSockets = await Promise.all(Array.from({ length: 8 }, () => askAndWait(`GET ${path}`)))
  try {
    let isAnswered = false
    const waiting = web.requestAs('/v1/usage').then(answer => {
      isAnswered = true
      return answer
    })
    expect((await web.requestAs('/v1/usage', { as: 'bob' })).status).toBe(200)
    expect(isAnswered).toBe(false)
    remainingSockets[0]?.destroy()
    expect((await waiting).status).toBe(200)
  } finally {
    for (const socket of remainingSockets) socket.destroy()
  }
})

test('a person with many unread runs can start no further run, because unread runs count as open', async () => {
  const open = () => web.postRun({ threadId, runId: uniqueName('run'), messages: [] })
  const body = () => JSON.stringify({ threadId, runId: uniqueName('run'), messages: [] })
  const remainingSockets = await Promise.all([0, 1].map(() => askAndWait('POST /api/v1/agent/runs', body())))
  try {
    const refusal = await eventually(async () => {
      const response = await open()
      const text = await response.text()
      return response.status === 429 && text
    })
    expect(refusal).toContain('Cannot run: too many runs are open')
  } finally {
    for (const socket of remainingSockets) socket.destroy()
  }
  const secondText = await eventually(async () => {
    const response = await open()
    const text = await response.text()
    return response.status === 200 && text
  })
  // A client that has just joined receives the whole of a long conversation.
  expect(secondText.length).toBeGreaterThan(12_000_000)
  expect(secondText).toContain('RUN_FINISHED')
})

test('unread files of one network are limited, and further ones wait', async () => {
  const bytes = new Uint8Array(10_000_000).fill(0x78)
  const { url } = await web.upload(bytes)
  const { pathname, search } = new URL(url)
  const remainingSockets = await Promise.all(Array.from({ length: 32 }, () => askAndWait(`GET ${pathname}${search}`)))
  try {
    const next = await askOnly(`GET ${pathname}${search}`)
    remainingSockets.push(next)
    expect((await web.requestAs('/v1/usage')).status).toBe(200)
    expect(next.readableLength).toBe(0)
    const responseStart = once(next, 'readable')
    remainingSockets[0]?.destroy()
    await responseStart
    expect(String(next.read(12))).toBe('HTTP/1.1 200')
  } finally {
    for (const socket of remainingSockets) socket.destroy()
  }
})
