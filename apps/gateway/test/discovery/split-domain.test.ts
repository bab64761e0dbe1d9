import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGuardedFetch } from '@postern/http'
import { checkHandleHost } from '@postern/operator/doctor'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

// These tests give the agents' addresses another domain than the gateway, which only redirects WebFinger.

const handleHost = 'example.test'
let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(() => ({ handle_host: handleHost }))
})
afterAll(() => gateway.close())

test.each([`@echo@${handleHost}`, '@echo@agents.test'])(
  'another server resolves %s, confirms the actor and gets an answer',
  async address => {
    const result = await gateway.simulation.send({ via: 'activitypub', to: address, text: `hello ${address}` })
    expect(result).toMatchObject({ status: 'answered', reply: { text: expect.stringContaining('hello') } })
    expect(result.reply?.raw).toMatchObject({ actor: `${gatewayOrigin}/agents/echo` })
    const { message } = await gateway.readMessage(result.id)
    expect(message.recipient).toBe(`@echo@${handleHost}`)
  },
)

test.each([handleHost, 'agents.test'])('WebFinger at %s answers with the same subject (MN-1.3)', async host => {
  const { request } = gateway.simulation.loopback
  const query = `/.well-known/webfinger?resource=acct:echo@${host}`
  const first = await request(`https://${host}${query}`)
  const answer = first.status === 302 ? await request(first.headers.get('location') ?? '') : first
  expect(JSON.parse(answer.body.toString())).toMatchObject({
    subject: `acct:echo@${handleHost}`,
    aliases: [`${gatewayOrigin}/agents/echo`],
  })
})

const gatewayNames = [handleHost, 'agents.test'].flatMap(host => [
  [`acct:${handleHost}@${host}`, host],
  [`acct:agents.test@${host}`, host],
])

test.each([...gatewayNames, [`${gatewayOrigin}/actor`, 'agents.test']])(
  'WebFinger answers %s at %s with the account that signs requests of the gateway',
  async (resource, host) => {
    const { request } = gateway.simulation.loopback
    const first = await request(`https://${host}/.well-known/webfinger?resource=${encodeURIComponent(resource)}`)
    const answer = first.status === 302 ? await request(first.headers.get('location') ?? '') : first
    const jrd = JSON.parse(answer.body.toString())
    expect(jrd).toEqual({
      subject: `acct:${handleHost}@${handleHost}`,
      aliases: [`${gatewayOrigin}/actor`],
      links: [{ rel: 'self', type: 'application/activity+json', href: `${gatewayOrigin}/actor` }],
    })
    const actor = JSON.parse((await request(jrd.links[0].href)).body.toString())
    expect(jrd.subject).toBe(`acct:${actor.preferredUsername}@${handleHost}`)
  },
)

test.each([
  'acct:other.test@example.test',
  'acct:example.test@other.test',
  `${gatewayOrigin}/actor/outbox`,
  `${gatewayOrigin}/`,
])('WebFinger knows no account of the gateway by %s', async resource => {
  const url = `${gatewayOrigin}/.well-known/webfinger?resource=${encodeURIComponent(resource)}`
  expect((await gateway.simulation.loopback.request(url)).status).toBe(404)
})

test('a server that looks up the account of a signed request gets an answer, and its proof is valid', async () => {
  const from = 'alice@gotosocial.test'
  const result = await gateway.simulation.send({
    via: 'activitypub',
    to: `@echo@${handleHost}`,
    text: 'who reads me?',
    from,
  })
  expect(result).toMatchObject({ status: 'answered', reply: { text: expect.stringContaining('who reads me?') } })
  expect((await gateway.readMessage(result.id)).message.sender).toMatchObject({ address: `@${from}`, verified: true })
})

test('host-meta leads to WebFinger', async () => {
  const answer = await gateway.simulation.loopback.request(`${gatewayOrigin}/.well-known/host-meta`)
  expect(answer.headers.get('content-type')).toBe('application/xrd+xml')
  expect(answer.body.toString()).toContain(`template="${gatewayOrigin}/.well-known/webfinger?resource={uri}"`)
})

test('the agent receives a message that mentions it by the host of its actor, without that host’s name', async () => {
  const text = '@echo@agents.test: which one are you?'
  const result = await gateway.simulation.send({ via: 'activitypub', to: `@echo@${handleHost}`, text })
  const { message } = await gateway.readMessage(result.id)
  expect(message.parts).toMatchObject([{ content: 'which one are you?' }])
})

test('the agent sends and receives mail at the domain of the handles', async () => {
  const result = await gateway.simulation.send({ via: 'email', to: 'echo', text: 'hello by mail' })
  expect(result.status).toBe('answered')
  const record = await eventually(async () => {
    const shownRecord = await gateway.readMessage(result.id)
    return shownRecord.response !== null && shownRecord
  })
  expect(record.message.recipient).toBe(`@echo@${handleHost}`)
  expect(result.reply?.raw).toMatch(/^From: .*echo@example\.test/m)
})

test('checkHandleHost() accepts a redirect, and otherwise says what to do', async () => {
  const redirector = createServer(({ url }, answer) =>
    answer.writeHead(302, { location: `${gatewayOrigin}${url}` }).end(),
  )
  await new Promise<void>(resolve => redirector.listen(0, '127.0.0.1', resolve))
  const settings = { agent: 'echo', handleHost, origin: gatewayOrigin }
  const check = async (agent: string, port: number) => {
    const loopback = { [handleHost]: port, 'agents.test': Number(new URL(gateway.url()).port) }
    const fetch = createGuardedFetch({ loopback, userAgent: 'test' })
    return checkHandleHost({ ...settings, agent }, fetch).finally(() => fetch.close())
  }
  const { port } = redirector.address() as AddressInfo
  expect(await check('echo', port)).toEqual({
    severity: 'ok',
    message: `WebFinger at ${handleHost} knows acct:echo@${handleHost}`,
  })
  const fix = `Let https://${handleHost}/.well-known/webfinger redirect (302, with the query) to ${gatewayOrigin}/.well-known/webfinger.`
  expect(await check('nobody', port)).toEqual({
    severity: 'error',
    message: `WebFinger at ${handleHost} answers 404 for acct:nobody@${handleHost}`,
    fix,
  })
  await new Promise(resolve => redirector.close(resolve))
  expect(await check('echo', port)).toMatchObject({ severity: 'error', fix })
  const fetch = createGuardedFetch({ loopback: { 'agents.test': port }, userAgent: 'test' })
  const ownVerdict = await checkHandleHost(
    { agent: 'echo', handleHost: 'agents.test', origin: 'https://agents.test' },
    fetch,
  )
  expect(ownVerdict.fix).toBe('Let the proxy in front pass /.well-known/webfinger of agents.test on to the gateway.')
  fetch.close()
})
