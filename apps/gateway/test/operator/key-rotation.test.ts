import { createHmac, hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadJose } from '@postern/http/tokens'
import { secretPurposes } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'

let chat: WebGateway

beforeAll(async () => {
  chat = await openWebGateway({}, { payments: { use: 'builtin:test' } })
})
afterAll(() => chat.close())

const jpeg = Buffer.concat([Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex'), Buffer.alloc(64)])

/** Reads the secrets of the store, like somebody who has stolen a backup. */
function stealSecrets(): ReadonlyMap<string, string> {
  const db = new DatabaseSync(join(chat.gateway.dataDir, 'postern.db'), { readOnly: true })
  const rows = db.prepare('SELECT name, value FROM secrets').all()
  db.close()
  return new Map(rows.map(({ name, value }) => [String(name), String(value)]))
}

/** Derives the key of a purpose from the newest secret of a stolen store. */
function deriveKey(stolen: ReadonlyMap<string, string>, purpose: string): string {
  const names = [...stolen.keys()].filter(name => /^secrets-\d+$/.test(name))
  const { secret } = JSON.parse(stolen.get(`secrets-${names.length}`) ?? '{}') as { readonly secret: string }
  const key = Buffer.from(secret, 'base64url')
  return createHmac('sha256', key).update(`postern secret v1 ${purpose}`).digest('base64url')
}

async function forgeChatUrl(stolen: ReadonlyMap<string, string>, { bucket, path }: { bucket: string; path: string }) {
  const { SignJWT } = await loadJose()
  const token = await new SignJWT({ url: `${bucket}/${path}` })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setExpirationTime('1h')
    .sign(Buffer.from(deriveKey(stolen, 'web-storage'), 'base64url'))
  return `${gatewayOrigin}/storage/v1/object/sign/${bucket}/${path}?token=${token}`
}

function forgeFileUrl(stolen: ReadonlyMap<string, string>, digest: string): string {
  const expires = Date.now() + 3_600_000
  const signature = createHmac('sha256', deriveKey(stolen, 'attachments')).update(`${digest}.${expires}`)
  return `${gatewayOrigin}/attachments/${digest}?token=${expires}.${signature.digest('base64url')}`
}

const statusOf = async (url: string) => (await fetch(chat.local(url))).status

async function rotate(body: object = {}) {
  const response = await fetch(`${chat.gateway.url()}/operator/api/keys/rotate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}` },
    body: JSON.stringify(body),
  })
  return (await response.json()) as { readonly secrets: readonly { readonly id: string }[] }
}

test('after keys rotate --revoke earlier URLs answer 403, forged ones too, and new ones work at once', async () => {
  const { fediverse } = chat.gateway.simulation
  const files = [{ name: 'x', mediaType: 'image/jpeg', bytes: jpeg }]
  await fediverse.deliver({ to: 'chat@agents.test', text: 'hello', from: 'alice@mastodon.test', files })
  const digest = hash('sha256', jpeg)
  const stolen = stealSecrets()
  const givenFile = await chat.upload(jpeg)
  await eventually(async () => (await statusOf(forgeFileUrl(stolen, digest))) === 200)
  const laterFile = await chat.upload(Buffer.concat([jpeg, Buffer.from('later')]))
  expect(await statusOf(givenFile.url)).toBe(200)
  expect(await statusOf(await forgeChatUrl(stolen, laterFile))).toBe(200)

  expect((await rotate()).secrets.map(({ id }) => id)).toContain('web-storage-2')
  expect([await statusOf(givenFile.url), await statusOf(forgeFileUrl(stolen, digest))]).toEqual([200, 200])

  await rotate({ revoke: true })
  const forgedUrls = [await forgeChatUrl(stolen, laterFile), forgeFileUrl(stolen, digest)]
  for (const url of [givenFile.url, ...forgedUrls]) expect(await statusOf(url)).toBe(403)
  const renewed = await chat.requestJson(
    'GET',
    `/api/v1/agent/attachments/signed-url?${new URLSearchParams({ ...givenFile })}`,
  )
  expect(await statusOf(renewed.json.url)).toBe(200)
  expect(await statusOf(forgeFileUrl(stealSecrets(), digest))).toBe(200)
})

test('keys list names every stored secret, so that a rotation covers all', async () => {
  const { secrets } = await chat.gateway.requestOperator<{ secrets: readonly { readonly purpose: string }[] }>('/keys')
  expect(new Set(secrets.map(({ purpose }) => purpose))).toEqual(new Set(Object.values(secretPurposes)))
  // Keys of actors, of mail and of cards rotate with their channels. Hosts of signed cards and the key of digests open nothing.
  const rotating = /^(?:handled-messages$|activitypub\/|email-dkim-|a2a:signing-key-\d|a2a:signs-cards:|secrets-\d)/
  expect([...stealSecrets().keys()].filter(name => !rotating.test(name))).toEqual([])
})
