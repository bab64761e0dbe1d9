import { Resolver } from 'node:dns/promises'
import type { Log } from '@postern/core'
import { parseJsonText } from '@postern/core'
import { inspectIssuer } from '@postern/identity'
import type { Finding, Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import { isKeyRecord } from '../../checks/mail-dns.ts'
import { handleHostOf } from '../../config/handle-host.ts'
import { findUnsafeSettings } from '../../config/production.ts'
import { createPlatform } from '../../platform/platform.ts'
import type { ConfiguredOpener as ClientOpener, ConfiguredClient as OperatorClient } from '../client.ts'
import type { Output } from '../context.ts'
import { keyOperations } from '../keys/operations.ts'
import { deliveryOperations } from '../messages/operations.ts'
import type { Check } from './check.ts'
import { checkHandleHost } from './handle-host.ts'
import { mailChecks } from './mail/checks.ts'
import { checkProxies } from './proxies.ts'
import { checkStore } from './store.ts'

const checks: readonly Check[] = [
  { id: 'config.safe', run: async ({ config }) => checkSafety(config) },
  {
    id: 'gateway.running',
    run: async ({ isRunning }) =>
      isRunning
        ? ok('the gateway is running')
        : warning(
            'no gateway is running on this data directory',
            'Start it with "postern start" (or "npm start" for dev mode).',
          ),
  },
  { id: 'network.proxies', run: checkProxies },
  { id: 'store.database', run: ({ config, directory }) => checkStore(config, { directory, now: Date.now }) },
  { id: 'discovery.webfinger', run: checkWebFinger },
  { id: 'discovery.actor', run: checkActor },
  { id: 'discovery.agent_card', run: checkAgentCard },
  { id: 'deliveries.dead', run: checkDeadLetters },
  ...mailChecks,
  { id: 'dns.records', outside: true, run: checkDnsRecords },
  { id: 'origin.reachable', outside: true, run: checkOrigin },
  { id: 'discovery.handle_host', outside: true, run: checkHandles },
  { id: 'identity.issuers', outside: true, run: checkIssuers },
]

/** Runs every check; the exit code tells whether one failed. */
export async function printDoctor(openClient: ClientOpener, output: Output): Promise<void> {
  const client = await openClient()
  try {
    const findings: Finding[] = []
    for (const check of checks) {
      if (check.outside && client.config.dev) continue
      findings.push({ id: check.id, ...(await runCheck(check, client)) })
    }
    output.print(output.json ? JSON.stringify({ findings }, null, 2) : findings.map(formatFinding).join('\n'))
    if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1
  } finally {
    await client.close()
  }
}

async function runCheck(check: Check, client: OperatorClient): Promise<Verdict> {
  try {
    return await check.run(client)
  } catch (error) {
    return failure(
      error instanceof Error ? error.message : 'the check itself failed',
      'Look into the log of the gateway.',
    )
  }
}

function formatFinding({ id, severity, message, fix }: Finding): string {
  return `${severity.padEnd(8)} ${id}: ${message}${fix ? `\n         ${fix}` : ''}`
}

function checkSafety(config: OperatorClient['config']): Verdict {
  const [first] = findUnsafeSettings(config)
  return first
    ? failure(first.message, first.fix)
    : ok(config.dev ? 'dev mode: unsafe switches are allowed' : 'no unsafe switch is on')
}

function firstAgent({ config }: OperatorClient): string {
  return config.default_agent ?? Object.keys(config.agents)[0] ?? ''
}

async function checkWebFinger(client: OperatorClient): Promise<Verdict> {
  const account = `acct:${firstAgent(client)}@${handleHostOf(client.config)}`
  const jrd = parseJsonText(
    await (await client.get(`/.well-known/webfinger?resource=${encodeURIComponent(account)}`)).text(),
  ) as {
    subject?: string
  }
  return jrd.subject === account
    ? ok(`WebFinger knows ${account}`)
    : failure(`WebFinger does not answer for ${account}`, 'Route /.well-known/webfinger of the domain to the gateway.')
}

async function checkActor(client: OperatorClient): Promise<Verdict> {
  const actor = parseJsonText(
    await (await client.get(`/agents/${firstAgent(client)}`, { accept: 'application/activity+json' })).text(),
  ) as { publicKey?: object }
  return actor.publicKey
    ? ok('the actor document has its key')
    : failure('the actor document has no key', 'Look into the log of the gateway.')
}

async function checkAgentCard(client: OperatorClient): Promise<Verdict> {
  const answer = await client.get('/.well-known/agent-card.json')
  return answer.ok
    ? ok('the A2A agent card answers')
    : failure(`the A2A agent card answers ${answer.status}`, 'Set default_agent to one of the agents.')
}

async function checkDeadLetters(client: OperatorClient): Promise<Verdict> {
  const { items: deliveries } = await client.call(deliveryOperations.list, { query: { state: 'dead', limit: 500 } })
  if (deliveries.length === 0) return ok('no dead letters')
  return warning(
    `${deliveries.length} dead letters`,
    'See "postern deliveries list --state dead"; then retry or dismiss each.',
  )
}

/** The keys; SPF and DMARC are judged by what they say, not by our proposal for them. */
async function checkDnsRecords(client: OperatorClient): Promise<Verdict> {
  const { keys } = await client.call(keyOperations.list, {})
  const resolver = new Resolver({ timeout: 5_000, tries: 2 })
  const { dns: servers } = client.config.network
  if (servers?.length) resolver.setServers(servers)
  const missing: string[] = []
  for (const { dns, publicKey } of keys) {
    if (!dns || !publicKey) continue
    const records = await resolver.resolveTxt(dns.name).catch(() => [])
    if (!records.some(strings => isKeyRecord(strings.join(''), publicKey))) missing.push(dns.name)
  }
  return missing.length === 0
    ? ok('every key is published in DNS')
    : failure(`not published as it should be: ${missing.join(', ')}`, 'Publish what "postern keys" prints.')
}

async function checkOrigin({ config }: OperatorClient): Promise<Verdict> {
  const answer = await fetch(`${config.origin}/healthz`, {
    signal: AbortSignal.timeout(10_000),
    redirect: 'error',
  }).catch(() => undefined)
  return answer?.ok
    ? ok(`${config.origin} reaches a gateway`)
    : failure(`${config.origin} does not reach the gateway`, 'Check DNS, TLS and the reverse proxy in front of it.')
}

async function checkHandles(client: OperatorClient): Promise<Verdict> {
  const { config } = client
  const handleHost = handleHostOf(config)
  const platform = createPlatform(config, { log: silentLog, slices: [] })
  try {
    return await checkHandleHost({ agent: firstAgent(client), handleHost, origin: config.origin }, platform.fetch)
  } finally {
    platform.close()
  }
}

async function checkIssuers({ config }: OperatorClient): Promise<Verdict> {
  const issuers = [...new Set(config.identity.trusted_issuers.map(({ issuer }) => issuer))]
  const platform = createPlatform(config, { log: silentLog, slices: [] })
  try {
    const problems = await Promise.all(issuers.map(issuer => inspectIssuer(issuer, platform)))
    const found = problems.filter(problem => problem !== undefined)
    if (found.length === 0) return ok(`the keys of ${issuers.length} trusted issuers can be read`)
    return warning(found.join('; '), 'Until then their evidence is left out: see docs/identity.md.')
  } finally {
    platform.close()
  }
}

const silence = () => undefined
const silentLog: Log = { debug: silence, info: silence, warn: silence, error: silence }
