import type { ResolvedAddress } from '@postern/operator'
import { formatResolved, printResolved } from '@postern/operator/views'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { listGatewayExtensions, mentionableExtensions } from '../../src/discovery/extensions.ts'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway, operatorToken } from '../setup/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway.close())

const resolve = (address: string) =>
  gateway.requestOperator<ResolvedAddress>(`/resolve?address=${encodeURIComponent(address)}`)
const requestPath = (path: string, accept = 'application/json') =>
  gateway.simulation.loopback.request(`${gatewayOrigin}${path}`, { headers: { accept } })

describe('postern resolve', () => {
  test.each(['@echo@agents.test', 'ACCT:Help@Agents.Test'])('finds no fault in our own address %s', async address => {
    const { outcome, findings, found } = await resolve(address)
    expect(findings.filter(({ severity }) => severity !== 'ok')).toEqual([])
    expect(outcome).toBe('ok')
    expect(Object.keys(found)).toEqual(['actor', 'inbox', 'agent_card', 'a2a', 'profile_page', 'mail'])
    const ids = findings.map(({ id }) => id)
    for (const id of ['a2a.agent_signature', 'a2a.host_signature', 'mail.dkim', 'page.json_ld', 'directory.entry'])
      expect(ids).toContain(id)
  })

  test('recognizes a fediverse server', async () => {
    const { outcome, found, findings } = await resolve('@alice@mastodon.test')
    expect(outcome).toBe('ok')
    expect(found.inbox).toBe('https://mastodon.test/users/alice/inbox')
    expect(findings.find(({ id }) => id === 'webfinger.card')?.severity).toBe('warning')
    expect(findings.find(({ id }) => id === 'actor.key')?.message).toContain(
      'https://mastodon.test/users/alice#main-key',
    )
  })

  test.each([
    ['@echo@agents.test', 0],
    ['@nobody@agents.test', 2],
    ['@@agents.test', 2],
  ])('prints the report of %s and exits with code %s', async (address, exitCode) => {
    writeRunFile(gateway.dataDir, { url: gateway.url(), pid: process.pid, isSimulating: true })
    const config = { data: gateway.dataDir, operator_token: operatorToken, email: { listen: { port: 0 } } }
    const lines: string[] = []
    const collectLine = (text: string) => void lines.push(text)
    // printResolved() sets the exit code, which would otherwise be the exit code of the test run.
    vi.stubGlobal('process', Object.create(process, { exitCode: { value: undefined, writable: true } }))
    try {
      const openClient = () =>
        openOperatorClient({ tree: config, baseDir: gateway.dataDir, missingSettings: [], path: undefined })
      const output = {
        openClient,
        json: false,
        columns: 80,
        hasColour: false,
        print: collectLine,
        printStyled: collectLine,
      }
      await printResolved(output, { address })
      expect(process.exitCode ?? 0).toBe(exitCode)
    } finally {
      vi.unstubAllGlobals()
    }
    expect(lines[0]).toContain(exitCode === 0 ? '✓ webfinger.subject' : '✗')
  })

  test('escapes control characters of a peer in its output', () => {
    const finding = { id: 'x', section: '§1', severity: 'error', message: 'a\u001b[2Jb', fix: 'c\u202ed' } as const
    const resolvedAddress = { asked: '@a@b.test', outcome: 'faulty', found: {}, findings: [finding] } as const
    const text = formatResolved(resolvedAddress, { columns: 80, hasColour: false })
    expect(text).toBe('@a@b.test\n\n✗ x a\\u{1b}[2Jb (§1)\n    → c\\u{202e}d')
  })

  test('prints lines of at most 80 columns, with colours only on a terminal', () => {
    const message = `a ${'long and '.repeat(20)}longer sentence`
    const finding = { id: 'webfinger.links', section: '§1.3', severity: 'error', message, fix: message } as const
    const resolvedAddress = { asked: '@a@b.test', outcome: 'faulty', found: {}, findings: [finding] } as const
    const lines = formatResolved(resolvedAddress, { columns: 80, hasColour: false }).split('\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
    expect(lines.slice(3).every(line => line.startsWith(' '.repeat('✗ webfinger.links '.length)))).toBe(true)
    expect(formatResolved(resolvedAddress, { columns: 80, hasColour: true })).toContain(
      '\u001b[31m✗\u001b[0m webfinger.links',
    )
  })

  test('fails without an address', async () => {
    await expect(gateway.requestOperator('/resolve')).rejects.toThrow('400')
  })
})

describe('the published documents', () => {
  test('contain only the relations that the request names (MN-1.3, RFC 7033 §4.3)', async () => {
    const answer = await requestPath('/.well-known/webfinger?resource=acct:echo@agents.test&rel=self&rel=mailto')
    const { links } = JSON.parse(answer.body.toString())
    expect(links.map(({ rel }: { rel: string }) => rel)).toEqual(['self', 'mailto'])
    expect(answer.headers.get('content-type')).toBe('application/jrd+json')
  })

  test('list exactly the enabled extensions in the card (MN-1.4, MN-1.6, MN-7.1)', async () => {
    const card = JSON.parse((await requestPath('/.well-known/agent-card/Echo')).body.toString())
    const a2aCard = JSON.parse((await requestPath('/agents/echo/.well-known/agent-card.json')).body.toString())
    const uris = (list: readonly { uri: string }[]) => list.map(({ uri }) => uri)
    const isMentionableExtension = (uri: string) => mentionableExtensions.some(extension => extension.uri === uri)
    expect(card.a2a.capabilities.extensions).toEqual(listGatewayExtensions({ identity: { trusted_issuers: [] } }))
    expect(uris(card.a2a.capabilities.extensions).toSorted()).toEqual(
      uris(a2aCard.capabilities.extensions).filter(isMentionableExtension).toSorted(),
    )
    expect(card).toMatchObject({ address: '@echo@agents.test', protocol_version: '0.1' })
    expect(card.mentionable).toEqual({
      supported_inbound: ['activitypub', 'a2a', 'email'],
      homepage: `${gatewayOrigin}/agents/echo`,
    })
  })

  test.each([
    ['echo', ['echo', 'help']],
    ['help', ['help']],
  ])(
    'list in the page of %s the contact points %j, and the host’s page is the default agent’s (MN-1.5)',
    async (agent, names) => {
      const page = (await requestPath(`/agents/${agent}`, 'text/html')).body.toString()
      const data = JSON.parse(/<script type="application\/ld\+json">(.*)<\/script>/.exec(page)?.[1] ?? '')
      const directory = JSON.parse((await requestPath('/.well-known/mentionable-agents.json')).body.toString())
      expect(data.contactPoint.map(({ email }: { email: string }) => email.split('@')[0])).toEqual(names)
      expect(directory).toMatchObject({ '@type': 'Organization', url: gatewayOrigin })
      expect(directory.contactPoint[0]).toEqual({
        '@type': 'ContactPoint',
        contactType: 'AI assistant',
        name: 'Echo',
        email: 'echo@agents.test',
        url: `${gatewayOrigin}/.well-known/agent-card/echo`,
        'mentionable:protocols': ['activitypub', 'a2a', 'email'],
        'mentionable:webfinger': 'acct:echo@agents.test',
      })
    },
  )
})

test('the configuration refuses agents whose names differ only in case (MN-1.3, MN-1.2)', async () => {
  const agents = { echo: { use: 'builtin:echo' }, Echo: { use: 'builtin:echo' } }
  await expect(openTestGateway(() => ({ agents }))).rejects.toThrow('agents.Echo')
})

test('the page of a gateway with very many agents lists a hundred agents, and the directory lists all of them', async () => {
  const names = Array.from({ length: 150 }, (_, index) => `agent${index}`)
  const agents = Object.fromEntries(names.map(name => [name, { use: 'builtin:echo' }]))
  const large = await openTestGateway(() => ({ agents, default_agent: 'agent0' }))
  const readBody = async (path: string, accept: string) => {
    const { body } = await large.simulation.loopback.request(`${gatewayOrigin}${path}`, { headers: { accept } })
    return body.toString()
  }
  try {
    const page = await readBody('/agents/agent0', 'text/html')
    const linkedData = JSON.parse(/<script type="application\/ld\+json">(.*)<\/script>/.exec(page)?.[1] ?? '')
    const directory = JSON.parse(await readBody('/.well-known/mentionable-agents.json', 'application/json'))
    expect([linkedData.contactPoint.length, directory.contactPoint.length]).toEqual([100, 150])
  } finally {
    await large.close()
  }
})
