// Checks that peers find the agents: WebFinger, actors, cards, key set and directory.
import type { GuardedFetch } from '@postern/message'
import { parseJsonText } from '@postern/message'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { ResolvedAddress } from '../../resolve/resolve-address.ts'
import { resolveAddress } from '../../resolve/resolve-address.ts'
import { webFingerUrlOf } from '../../resolve/view/peer.ts'
import type { FetchedObject } from '../../resolve/view/peer-fetch.ts'
import { fetchAsPeer, listOrEmpty, objectOrUndefined, textOrUndefined } from '../../resolve/view/peer-fetch.ts'
import type { Check } from '../check.ts'
import { oncePerRun, outcomeFor, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import type { CheckOutcome } from '../report.ts'

const timeoutMs = 25_000

/** The checks of discovery. The first ones run the rows of `postern resolve` for each address. */
export const discoveryChecks: readonly Check[] = [
  createAddressCheck(['address.', 'webfinger.'], {
    id: 'discovery.webfinger',
    description: 'WebFinger answers for each address, with the links that peers follow.',
    fix: 'Let the proxy pass `/.well-known/webfinger` of the domain on to the gateway.',
  }),
  createAddressCheck(['actor.'], {
    id: 'discovery.actor',
    description: 'Peers can fetch the actor of each address, with its key and inbox.',
    fix: 'Let the proxy pass `/agents/` on to the gateway, with the `Accept` field as it is.',
  }),
  createAddressCheck(['card.'], {
    id: 'discovery.agent_card',
    description: 'Peers can fetch the agent card of each address, and it says the same as WebFinger.',
    fix: 'Let the proxy pass `/.well-known/agent-card/` on to the gateway.',
  }),
  createAddressCheck(['a2a.'], {
    id: 'discovery.calls',
    description: 'The A2A cards of each address and of the host are valid, and their signatures hold.',
    fix: 'Let the proxy pass `/.well-known/` and `/agents/` on to the gateway.',
  }),
  createAddressCheck(['page.', 'directory.'], {
    id: 'discovery.pages',
    description: 'The page of each agent and the directory name the agent to people and to search engines.',
    fix: 'Let the proxy pass `/agents/` and `/.well-known/mentionable-agents.json` on to the gateway.',
  }),
  {
    id: 'discovery.host_meta',
    description: 'host-meta says where WebFinger is.',
    fix: 'Let the proxy pass `/.well-known/host-meta` on to the gateway.',
    needs: ['gateway', 'peers'],
    run: checkHostMeta,
  },
  {
    id: 'discovery.nodeinfo',
    description: 'NodeInfo says which software runs here.',
    fix: 'Let the proxy pass `/.well-known/nodeinfo` and `/nodeinfo/` on to the gateway.',
    needs: ['gateway', 'peers'],
    run: checkNodeInfo,
  },
  {
    id: 'discovery.jwks',
    description: 'The key set (JWKS) has the keys that sign our cards and tokens.',
    fix: 'Let the proxy pass `/.well-known/jwks.json` on to the gateway.',
    needs: ['gateway', 'peers'],
    run: checkKeySet,
  },
  {
    id: 'discovery.handle_host',
    description: 'The domain of the handles leads to the gateway, also where it is another than that of `origin`.',
    fix: 'Redirect `/.well-known/webfinger` of `handle_host` to the origin (302, with the query).',
    needs: ['gateway', 'peers'],
    run: checkHandle,
  },
]

/** Checks host-meta (RFC 6415), which some servers ask for the address of WebFinger. */
async function checkHostMeta(deps: DoctorDeps): Promise<CheckOutcome> {
  const host = deps.handleHost
  const url = `https://${host}/.well-known/host-meta`
  const fix = `Let the proxy in front pass /.well-known/host-meta of ${host} on to the gateway.`
  const { status, text, error } = await fetchAsPeer(
    url,
    { accept: 'application/xrd+xml', redirects: 1 },
    openSystem(deps),
  )
  if (error !== undefined || status !== 200)
    return outcomeFor(url, warning(`cannot fetch host-meta: ${error ?? status}`, fix))
  const [, template = ''] = /rel="lrdd"[^>]*template="([^"]*)"/.exec(text ?? '') ?? []
  return outcomeFor(
    url,
    template.includes('/.well-known/webfinger') && template.includes('{uri}')
      ? ok('host-meta says where WebFinger is')
      : warning('host-meta does not say where WebFinger is', fix),
  )
}

/** Checks NodeInfo 2.1, by which crawlers and servers learn the software. */
async function checkNodeInfo(deps: DoctorDeps): Promise<CheckOutcome> {
  const { origin } = deps.config
  const url = `${origin}/.well-known/nodeinfo`
  const fix = 'Let the proxy in front pass /.well-known/nodeinfo and /nodeinfo/ on to the gateway.'
  const system = openSystem(deps)
  const { document, status, error } = await fetchAsPeer(url, { accept: 'application/json' }, system)
  const [firstLink] = listOrEmpty(document?.links).map(objectOrUndefined)
  const href = textOrUndefined(firstLink?.href)
  if (href === undefined)
    return outcomeFor(url, warning(`cannot fetch NodeInfo: ${error ?? `it answers ${status}`}`, fix))
  const info = await fetchAsPeer(href, { accept: 'application/json' }, system)
  const name = textOrUndefined(objectOrUndefined(info.document?.software)?.name)
  return outcomeFor(
    href,
    name === undefined
      ? warning(`NodeInfo at ${href} does not name the software: ${info.error ?? `it answers ${info.status}`}`, fix)
      : ok(`NodeInfo says that ${name} runs here`),
  )
}

const keySetPath = '/.well-known/jwks.json'

/** Checks the key set by which peers verify cards and tokens of the gateway. */
async function checkKeySet(deps: DoctorDeps): Promise<CheckOutcome> {
  const url = deps.config.origin + keySetPath
  const publishedKeys = await Promise.all(requireOpened(deps).channels.map(channel => channel.keys?.list() ?? []))
  const ownKeyIds = publishedKeys.flat().flatMap(({ publicKey }) => readKeyId(publicKey))
  const { document, status, error } = await fetchAsPeer(url, { accept: 'application/json' }, openSystem(deps))
  return outcomeFor(url, judgeServedKeys(ownKeyIds, document, error ?? `it answers ${status}`))
}

function judgeServedKeys(ownKeyIds: readonly string[], document: FetchedObject | undefined, cause: string): Verdict {
  const fix = `Let the proxy in front pass ${keySetPath} on to the gateway, and cache it for five minutes at most.`
  if (!document) return failure(`cannot fetch the key set: ${cause}`, fix)
  const servedKeyIds = new Set(listOrEmpty(document.keys).map(key => objectOrUndefined(key)?.kid))
  const missingKeyIds = ownKeyIds.filter(kid => !servedKeyIds.has(kid))
  return missingKeyIds.length === 0
    ? ok(`the key set has our ${ownKeyIds.length === 1 ? 'key' : `${ownKeyIds.length} keys`}`)
    : failure(`the key set does not have our key ${missingKeyIds.join(', ')}`, fix)
}

function readKeyId(publicKey: string): readonly string[] {
  if (!publicKey.startsWith('{')) return []
  const { kid } = parseJsonText(publicKey) as { readonly kid?: unknown }
  return typeof kid === 'string' ? [kid] : []
}

function openSystem(deps: DoctorDeps) {
  return requireOpened(deps).openResolveSystem()
}

/** Creates a check from the rows of `postern resolve` whose ids have these prefixes. */
function createAddressCheck(prefixes: readonly string[], texts: Pick<Check, 'id' | 'description' | 'fix'>): Check {
  return { ...texts, needs: ['gateway', 'peers'], timeoutMs, run: deps => checkOwnAddresses(deps, prefixes) }
}

async function checkHandle(deps: DoctorDeps): Promise<CheckOutcome> {
  const { agents, openResolveSystem } = requireOpened(deps)
  const agent = agents.defaultAgent ?? agents.list()[0]?.name
  const { handleHost } = deps
  if (agent === undefined) return skip(handleHost, 'there is no agent')
  const handle = { agent, handleHost, origin: deps.config.origin }
  return outcomeFor(handleHost, await checkHandleHost(handle, openResolveSystem().fetch))
}

/** The maximum number of addresses to check. Each needs a dozen requests. */
const maxAddresses = 50
const maxConcurrentAddresses = 4

/** Runs the rows of `postern resolve` with these prefixes for each address of the gateway. */
async function checkOwnAddresses(deps: DoctorDeps, prefixes: readonly string[]): Promise<readonly CheckOutcome[]> {
  const { resolvedAddresses, skippedCount } = await resolveAll(deps)
  const outcomes = resolvedAddresses.flatMap(resolvedAddress => judgeAddress(resolvedAddress, prefixes))
  return skippedCount > 0 ? [...outcomes, skip('', `${skippedCount} more addresses were not checked`)] : outcomes
}

const resolveAll = oncePerRun(async (deps: DoctorDeps) => {
  const { agents, openResolveSystem } = requireOpened(deps)
  const system = openResolveSystem()
  const names = agents.list().map(({ name }) => name)
  const pendingAddresses = names.slice(0, maxAddresses).map(name => `@${name}@${agents.domain}`)
  const resolvedAddresses: ResolvedAddress[] = []
  while (pendingAddresses.length > 0)
    resolvedAddresses.push(
      ...(await Promise.all(
        pendingAddresses
          .splice(0, maxConcurrentAddresses)
          .map(pendingAddress => resolveAddress(pendingAddress, system)),
      )),
    )
  return { resolvedAddresses, skippedCount: Math.max(0, names.length - maxAddresses) }
})

function judgeAddress(
  { asked, address = asked, findings }: ResolvedAddress,
  prefixes: readonly string[],
): readonly CheckOutcome[] {
  const relevantFindings = findings.filter(({ id }) => prefixes.some(prefix => id.startsWith(prefix)))
  if (relevantFindings.length === 0) return [skip(address, 'no link leads there; see discovery.webfinger')]
  const faultyFindings = relevantFindings.filter(({ severity }) => severity !== 'ok')
  return faultyFindings.length > 0
    ? faultyFindings.map(finding => outcomeFor(address, finding))
    : [
        {
          subject: address,
          verdict: 'ok',
          message: `${relevantFindings.length === 1 ? 'it is' : `all ${relevantFindings.length} points are`} as peers expect`,
        },
      ]
}

interface AgentHandle {
  /** The name of the agent, such as `echo`. */
  readonly agent: string
  readonly handleHost: string
  readonly origin: string
}

const jrdTypes = 'application/jrd+json, application/json'

/** Checks that the domain of the handles leads to the gateway, because every server asks there first. */
export async function checkHandleHost(
  { agent, handleHost, origin }: AgentHandle,
  fetch: GuardedFetch,
): Promise<Verdict> {
  const account = `acct:${agent}@${handleHost}`
  const url = webFingerUrlOf(handleHost, account)
  const path = '/.well-known/webfinger'
  const fix =
    origin === `https://${handleHost}`
      ? `Let the proxy in front pass ${path} of ${handleHost} on to the gateway.`
      : `Let https://${handleHost}${path} redirect (302, with the query) to ${origin}${path}.`
  try {
    const { status, body } = await fetch(url, { headers: { accept: jrdTypes }, redirects: 1, timeoutMs: 10_000 })
    if (status !== 200) return failure(`WebFinger at ${handleHost} answers ${status} for ${account}`, fix)
    return readSubject(body) === account
      ? ok(`WebFinger at ${handleHost} knows ${account}`)
      : failure(`WebFinger at ${handleHost} answers something else for ${account}`, fix)
  } catch (error) {
    return failure(`WebFinger at ${handleHost} does not answer: ${error instanceof Error ? error.message : error}`, fix)
  }
}

function readSubject(body: Uint8Array): unknown {
  try {
    return (parseJsonText(Buffer.from(body).toString()) as { subject?: unknown } | null)?.subject
  } catch {
    return undefined
  }
}
