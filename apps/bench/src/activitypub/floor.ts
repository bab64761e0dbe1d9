// Receives signed deliveries with a signature check and one durable insert: the floor of the comparison.
import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { Hono } from 'hono'
import { serveDurable } from '../servers/durable-log.ts'

interface Setup {
  readonly keys: readonly { readonly keyId: string; readonly publicKeyPem: string }[]
}

await serveDurable<Setup>((log, { keys }) => {
  const publicKeys = new Map(keys.map(({ keyId, publicKeyPem }) => [keyId, createPublicKey(publicKeyPem)]))
  return new Hono().post('/agents/:agent/inbox', async context => {
    const body = new Uint8Array(await context.req.arrayBuffer())
    const { method, path } = context.req
    if (!isSigned(name => context.req.header(name), `${method.toLowerCase()} ${path}`, body, publicKeys)) {
      return context.text('unsigned', 401)
    }
    const { id } = JSON.parse(new TextDecoder().decode(body)) as { id: string }
    await log.append(id, body)
    return context.body(null, 202)
  })
})

type ReadHeader = (name: string) => string | undefined

function isSigned(header: ReadHeader, target: string, body: Uint8Array, keys: ReadonlyMap<string, KeyObject>): boolean {
  if (header('digest') !== `SHA-256=${hash('sha256', body, 'base64')}`) return false
  const members = new Map(
    [...(header('signature') ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  )
  const key = keys.get(members.get('keyId') ?? '')
  const lines = (members.get('headers') ?? '')
    .split(' ')
    .map(name => `${name}: ${name === '(request-target)' ? target : header(name)}`)
  const signature = Buffer.from(members.get('signature') ?? '', 'base64')
  return key !== undefined && verify('sha256', Buffer.from(lines.join('\n')), key, signature)
}
