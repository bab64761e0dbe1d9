import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { defaultLimits } from '../src/config.ts'
import type { ConnectorGateway } from './gateway.ts'
import { openConnectorGateway } from './gateway.ts'
import { awaitEntry } from './visitor.ts'

let deps: ConnectorGateway
let heldAt: number | undefined

beforeAll(async () => {
  const limits = { ...defaultLimits, loginsPerMinute: 40, streamsPerPerson: 2 }
  deps = await openConnectorGateway({ limits, now: () => heldAt ?? Date.now() })
})
afterEach(() => {
  heldAt = undefined
})
afterAll(() => deps.close())

const attack = `<img src=x onerror=alert(1)>"'</textarea><script>alert(2)</script>`

describe('the text of strangers', () => {
  test('appears as escaped data in names, messages and answers, on the page and in its stream', async () => {
    const eve = await deps.logIn('<b onclick="x()">Eve</b>')
    const bob = await deps.logIn('Bob')
    const entries = await bob.watch()
    await eve.sayInRoom(`@convener say ${attack}`)
    await deps.connector.idle()
    const streamed = await awaitEntry(
      entries,
      ({ by, kind }) => by === '@convener@agents.test' && kind === 'agent said',
    )
    expect(streamed.text).toBe(attack)
    await entries.return()
    for (const html of [await bob.page(), streamed.html]) {
      expect(html).not.toMatch(/<img|<b |<script>|alert\(2\)<\/script>/)
    }
    expect((await bob.entries()).find(({ by }) => by === '<b onclick="x()">Eve</b>')?.text).toContain(attack)
  })

  test('loses its control and direction characters', async () => {
    const eve = await deps.logIn('Eve')
    await eve.sayInRoom('a\u202eb\u0000c\u2066d\u200fe\r\nf')
    expect((await eve.entries()).at(-1)?.text).toBe('abcde\nf')
  })

  test.each(['', ' ', '@echo@agents.test', 'a\u202eb', 'a\nb', 'x'.repeat(33)])(
    'the login refuses the name %j',
    async name => {
      await expect(deps.logIn(name)).rejects.toThrow(/login: 400 .*A name has up to 32/s)
    },
  )

  test('two people with one name have different subjects', async () => {
    const [firstVisitor, secondVisitor] = [await deps.logIn('Ann'), await deps.logIn('Ann')]
    const subjects = []
    for (const ann of [firstVisitor, secondVisitor]) {
      await ann.sayInRoom('@teller hi')
      await deps.connector.idle()
      subjects.push(/room:lobby\/(ann-\w{16}) /.exec((await ann.answers()).at(-1) ?? '')?.[1])
    }
    expect(new Set(subjects).size).toBe(2)
    expect(subjects).not.toContain(undefined)
  })
})

describe('every page', () => {
  test.each(['/', '/rooms/lobby', '/rooms/none', '/static/room.js', '/.well-known/adapter-card'])(
    '%s allows only scripts and styles of its own origin, and no frame',
    async path => {
      const ann = await deps.logIn('Ann')
      const { headers } = await ann.get(path)
      expect(headers.get('content-security-policy')).toContain(
        "default-src 'none'; script-src 'self'; style-src 'self'",
      )
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
    },
  )

  test('contains no inline script or style', async () => {
    const ann = await deps.logIn('Ann')
    expect(await ann.page()).not.toMatch(/<script(?! src="\/static\/room\.js")|<style|<[^>]+ (style|on\w+)=/)
  })
})

describe('a form', () => {
  test.each([
    ['without a token', {}, {}],
    ['with a token of somebody else', { csrf: 'other' }, {}],
    ['from a page elsewhere, as the browser says', { csrf: 'own' }, { 'sec-fetch-site': 'cross-site' }],
    ['from a page of a neighbour', { csrf: 'own' }, { 'sec-fetch-site': 'same-site' }],
    ['from a page of another origin', { csrf: 'own' }, { origin: 'https://evil.test' }],
    ['from a page without an origin', { csrf: 'own' }, { origin: 'null' }],
  ])('the server refuses %s', async (_, { csrf }: { csrf?: string }, headers) => {
    const [ann, bob] = [await deps.logIn('Ann'), await deps.logIn('Bob')]
    const token = csrf === 'own' ? await ann.formToken() : csrf === 'other' ? await bob.formToken() : ''
    const countBefore = (await ann.entries()).length
    const response = await ann.postForm('/rooms/lobby/messages', { csrf: token, text: 'forged' }, headers)
    expect([response.status, await response.text()]).toEqual([
      403,
      expect.stringContaining('This form is not from here'),
    ])
    expect((await ann.entries()).length).toBe(countBefore)
  })

  test('fails for somebody without a valid session cookie (MN-11)', async () => {
    const ann = await deps.logIn('Ann')
    const fields = { csrf: await ann.formToken(), text: 'forged' }
    const [value = '', signature = ''] = ann.cookie.split('=')[1]?.split('.') ?? []
    const other = Buffer.from(Buffer.from(value, 'base64url').toString().replace('"Ann"', '"Eve"')).toString(
      'base64url',
    )
    for (const cookie of ['', 'chat=x', 'chat=x.y.z', `chat=${other}.${signature}`, `chat=${value}.`]) {
      const response = await ann.postForm('/rooms/lobby/messages', fields, { cookie })
      expect([response.status, await response.text()]).toEqual([401, expect.stringContaining('Nobody knows you here')])
    }
  })

  test('fails without a form body, and when the body is too large, empty or too long', async () => {
    const ann = await deps.logIn('Ann')
    const csrf = await ann.formToken()
    const status = async (text: string) => (await ann.postForm('/rooms/lobby/messages', { csrf, text })).status
    expect([await status(' \n '), await status('x'.repeat(4_001)), await status('x'.repeat(70_000))]).toEqual([
      400, 413, 413,
    ])
    const json = await ann.postForm(
      '/rooms/lobby/messages',
      { csrf, text: 'x' },
      { 'content-type': 'application/json' },
    )
    expect(json.status).toBe(415)
  })

  test('cannot open a chat room with an invalid name', async () => {
    const ann = await deps.logIn('Ann')
    const csrf = await ann.formToken()
    for (const name of ['', '-a', 'A', '../etc', 'x'.repeat(33)]) {
      expect((await ann.postForm('/rooms', { csrf, name })).status).toBe(400)
    }
    expect((await ann.get('/rooms/none')).status).toBe(404)
  })
})

describe('a flood', () => {
  test('of messages by one person gets 429 with Retry-After', async () => {
    const eve = await deps.logIn('Eve')
    const csrf = await eve.formToken()
    heldAt = Date.now()
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => eve.postForm('/rooms/lobby/messages', { csrf, text: `${index}` })),
    )
    const refusal = answers.filter(({ status }) => status === 429)
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(10)
    expect(refusal).toHaveLength(20)
    expect(Number(refusal[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('of mentions or of open windows stops at its limit', async () => {
    const eve = await deps.logIn('Eve')
    const countBefore = (await deps.messages()).length
    await eve.sayInRoom(Array.from({ length: 50 }, (_, index) => `@agent${index}@agents.test`).join(' '))
    await deps.connector.idle()
    const failedEntries = (await eve.entries()).filter(({ kind }) => kind === 'agent failed')
    expect(failedEntries).toHaveLength(defaultLimits.agentsPerMessage)
    expect((await deps.messages()).length).toBe(countBefore)
    const windows = [await eve.watch(), await eve.watch()]
    expect((await eve.get('/rooms/lobby/events')).status).toBe(429)
    for (const window of windows) await window.return()
  })
})
