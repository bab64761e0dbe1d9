import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { negotiateExtensions } from '../../src/endpoint/extensions.ts'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway({ runsWorker: false, config: { versions: ['1.0'] } })
})
afterAll(() => gateway.close())

async function list(version: string, query = '') {
  const path = `/a2a${query}`
  const { status, body } = await gateway.rpc('ListTasks', {}, { path, headers: { 'a2a-version': version } })
  return { status, code: body.error?.code, message: body.error?.message, reason: body.error?.data[0].reason }
}

describe('the gateway accepts its own versions', () => {
  test.each([
    ['1.0', '1.0', ''],
    ['A2A-V03 with a patch', '1.0.1', ''],
    ['A2A-V04 by query only', '', '?A2A-Version=1.0'],
    ['by both, alike', '1.0', '?A2A-Version=1.0.7'],
  ])('%s', async (_, header, query) => {
    expect(await list(header, query)).toMatchObject({ status: 200, code: undefined })
  })
})

describe('the gateway refuses any other version, and never guesses', () => {
  const unsupported = 'Cannot take request: A2A-Version is not supported; this agent speaks 1.0'
  const absent = 'Cannot take request: A2A-Version is absent, which means 0.3; this agent speaks 1.0'
  const two = 'Cannot take request: two A2A versions named; this agent speaks 1.0'
  test.each([
    ['A2A-V01 none', '', '', absent],
    ['0.3', '0.3', '', unsupported],
    ['A2A-V02 99.0', '99.0', '', unsupported],
    ['A2A-V02 abc', 'abc', '', unsupported],
    ['A2A-V02 two headers', '1.0, 0.3', '', unsupported],
    ['1', '1', '', unsupported],
    ['A2A-V05 header and query that differ', '1.0', '?A2A-Version=0.3', two],
    ['A2A-V05 the other way round', '0.3', '?A2A-Version=1.0', two],
    ['markup', '<script>', '', unsupported],
  ])('%s', async (_, header, query, message) => {
    expect(await list(header, query)).toEqual({ status: 200, code: -32009, message, reason: 'VERSION_NOT_SUPPORTED' })
  })
})

describe('when the gateway also offers 0.3,', () => {
  test('a missing version means 0.3, and its methods work (VER-SERVER-003)', async () => {
    const both = await openA2aGateway({ runsWorker: false })
    for (const headers of [{ 'a2a-version': '' }, { 'a2a-version': '0.3' }, { 'a2a-version': '0.3.0' }]) {
      const { body } = await both.rpc('tasks/get', { id: 'x' }, { headers })
      expect(body.error).toMatchObject({ code: -32001, message: 'Task not found' })
    }
    await both.close()
  })

  test('the gateway refuses a method of the other version without guessing (A2A-E10)', async () => {
    const both = await openA2aGateway({ runsWorker: false })
    const older = await both.rpc('message/send', {})
    expect(older.body.error?.code).toBe(-32601)
    const newer = await both.rpc('ListTasks', {}, { headers: { 'a2a-version': '' } })
    expect(newer.body.error).toMatchObject({
      code: -32009,
      message: 'Cannot take request: A2A-Version is absent or 0.3, which has no such method; name 1.0',
    })
    const neither = await both.rpc('tasks/list', {}, { headers: { 'a2a-version': '' } })
    expect(neither.body.error?.code).toBe(-32601)
    await both.close()
  })
})

describe('extensions', () => {
  const ours = [{ uri: 'https://example.org/ours', required: true }, { uri: 'https://example.org/other' }]

  test('must appear in a call if the card requires them (A2A-V06)', () => {
    const message = 'Cannot take request: extension "https://example.org/ours" is required'
    expect(() => negotiateExtensions('https://example.org/other', ours)).toThrow(message)
    expect(() => negotiateExtensions(null, ours)).toThrow(
      expect.objectContaining({ errorName: 'extensionSupportRequired' }),
    )
  })

  test('are active only if the call names them', () => {
    expect(negotiateExtensions(' https://example.org/ours ,https://else.where/x', ours)).toEqual([
      'https://example.org/ours',
    ])
  })

  test('count only within the bounds (A2A-V07)', async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `urn:x:${at}`).join(',')
    const { status, body } = await gateway.rpc('ListTasks', {}, { headers: { 'a2a-extensions': many } })
    expect([status, body.error]).toEqual([200, undefined])
    expect(() => negotiateExtensions(`${many},https://example.org/ours`, ours)).toThrow('is required')
  })

  test('have no echo if they are unknown (A2A-V08)', async () => {
    const { status, headers } = await gateway.rpc('ListTasks', {}, { headers: { 'a2a-extensions': 'urn:unknown' } })
    expect([status, headers.get('a2a-extensions')]).toEqual([200, null])
  })
})
