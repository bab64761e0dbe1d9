// Receives mail with mailauth and mailparser and one insert, for comparison.
import { Resolver } from 'node:dns/promises'
import { Hono } from 'hono'
import { authenticate } from 'mailauth'
import { simpleParser } from 'mailparser'
import { serveDurable } from '../servers/durable-log.ts'

interface Setup {
  readonly dns: readonly string[]
}

/** Runs the two libraries as their manuals show them, in one process, with one insert each. */
await serveDurable<Setup>((log, { dns }) => {
  const resolver = createCachedResolver(dns)
  return new Hono().post('/email/inbound', async context => {
    const octets = Buffer.from(await context.req.arrayBuffer())
    const { ip = '', helo = '', from = '' } = context.req.query()
    const { dmarc } = await authenticate(octets, { ip, helo, sender: from, mta: 'agents.test', strict: true, resolver })
    const verdict = dmarc ? dmarc.status.result : 'none'
    if (verdict !== 'pass') return context.text('not authenticated', 403)
    const { messageId = '', text = '' } = await simpleParser(octets)
    await log.append(messageId, Buffer.concat([Buffer.from(text), octets]))
    return context.json({ status: 'accepted' })
  })
})

/** Creates a resolver that caches every answer forever, even a failure. */
function createCachedResolver(servers: readonly string[]) {
  const resolver = new Resolver()
  resolver.setServers(servers)
  const answers = new Map<string, Promise<unknown>>()
  // biome-ignore lint/suspicious/noExplicitAny: the library's own signature
  return (name: string, type: string): Promise<any> => {
    const key = `${type} ${name}`
    const answer = answers.get(key) ?? resolver.resolve(name, type)
    answers.set(key, answer)
    return answer
  }
}
