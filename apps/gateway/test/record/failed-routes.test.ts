import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOfRefusal } from '@postern/operator'
import type { Refusal } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway, operatorToken } from '../setup/gateway.ts'
import { awaitReason, expectWellFormed } from '../why/ask-why.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway.close())

const listRefusals = async (query = '') =>
  (await gateway.requestOperator<{ items: Refusal[] }>(`/refusals?limit=500${query}`)).items

/** Renames tables, as if the file were damaged: reads of them fail, and everything else works. Returns a function that undoes it. */
function breakTables(...tables: readonly string[]): () => void {
  const change = (rename: (table: string) => readonly [string, string]) => {
    const db = new DatabaseSync(join(gateway.dataDir, 'postern.db'), { timeout: 10_000 })
    for (const [from, to] of tables.map(rename)) db.exec(`ALTER TABLE ${from} RENAME TO ${to}`)
    db.close()
  }
  change(table => [table, `${table}_away`])
  return () => change(table => [`${table}_away`, table])
}

async function requestPath(path: string): Promise<number> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  return (await fetch(gateway.url() + path, { headers })).status
}

test('the list has failures outside the channels with path and reason, without unknown paths', async () => {
  const restore = breakTables('requirements', 'secrets')
  const paths = ['/operator/api/requirements?limit=7', '/.well-known/webfinger?resource=acct:nobody@agents.test']
  const failingPaths = [
    '/agents/nobody',
    '/nowhere',
    '/operator/api/messages/nothing',
    '/operator/api/messages?odd=1',
    '/readyz',
  ]
  const answers: number[] = []
  for (const path of [...paths, ...failingPaths]) answers.push(await requestPath(path))
  restore()
  expect(answers).toEqual([500, 500, 500, 404, 404, 400, 200])
  const refusals = await listRefusals()
  const failedRoute = {
    from: '127.0.0.1',
    code: 'internal',
    status: 500,
    reason: 'a fault of the gateway: its log has it',
  }
  expect(refusals.toReversed()).toMatchObject([
    { ...failedRoute, via: 'gateway', endpoint: 'GET /operator/api/requirements' },
    { ...failedRoute, via: 'gateway', endpoint: 'GET /.well-known/webfinger' },
    { ...failedRoute, via: 'activitypub', endpoint: 'GET /agents/:agent', agent: 'nobody' },
  ])
  expect(JSON.stringify(refusals)).not.toContain('limit=7')
  expect(await listRefusals('&channel=gateway')).toHaveLength(2)
  expect(refusals.map(refusal => reasonOfRefusal(refusal, Date.now()).sentence)).toEqual([
    expect.stringMatching(
      /^Put off with 500 at [\d:]+ UTC: the gateway itself failed \(a fault of the gateway: its log has it\)$/,
    ),
    ...Array.from({ length: 2 }, () =>
      expect.stringMatching(/^Failed with 500 at [\d:]+ UTC: the gateway itself failed/),
    ),
  ])
  const reason = await awaitReason(gateway, '@nobody@agents.test', 'internal_fault')
  expect(reason.fix?.text).toContain('log')
  expectWellFormed(reason)
  expect(await Promise.all(paths.map(requestPath))).toEqual([200, 404])
})

test('the list omits readiness probes of a gateway that is not ready', async () => {
  const countBefore = (await listRefusals('&channel=gateway')).length
  const restore = breakTables('blobs')
  expect(await requestPath('/readyz')).toBe(503)
  restore()
  expect(await listRefusals('&channel=gateway')).toHaveLength(countBefore)
})
