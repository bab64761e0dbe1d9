import { parseJsonText } from '@postern/core'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import { handleHostOf } from '../../config/handle-host.ts'
import type { FetchedObject } from '../../resolve/view/fetched.ts'
import { asFetchedObject, asList, asText, lookAt } from '../../resolve/view/fetched.ts'
import type { CheckOutcome } from '../check.ts'
import { about } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'

/** RFC 6415: some servers ask it first where WebFinger is. */
export async function checkHostMeta(deps: DoctorDeps): Promise<CheckOutcome> {
  const host = handleHostOf(deps.config)
  const url = `https://${host}/.well-known/host-meta`
  const fix = `Let the proxy in front pass /.well-known/host-meta of ${host} on to the gateway.`
  const { status, text, error } = await lookAt(url, { accept: 'application/xrd+xml', redirects: 1 }, openPlatform(deps))
  if (error !== undefined || status !== 200)
    return about(url, warning(`host-meta cannot be had: ${error ?? status}`, fix))
  const [, template = ''] = /rel="lrdd"[^>]*template="([^"]*)"/.exec(text ?? '') ?? []
  return about(
    url,
    template.includes('/.well-known/webfinger') && template.includes('{uri}')
      ? ok('host-meta says where WebFinger is')
      : warning('host-meta does not say where WebFinger is', fix),
  )
}

/** NodeInfo 2.1: crawlers and servers find out by it what runs here. */
export async function checkNodeInfo(deps: DoctorDeps): Promise<CheckOutcome> {
  const { origin } = deps.config
  const url = `${origin}/.well-known/nodeinfo`
  const fix = 'Let the proxy in front pass /.well-known/nodeinfo and /nodeinfo/ on to the gateway.'
  const platform = openPlatform(deps)
  const { document, status, error } = await lookAt(url, { accept: 'application/json' }, platform)
  const [first] = asList(document?.links).map(asFetchedObject)
  const href = asText(first?.href)
  if (href === undefined) return about(url, warning(`NodeInfo cannot be had: ${error ?? `it answers ${status}`}`, fix))
  const info = await lookAt(href, { accept: 'application/json' }, platform)
  const name = asText(asFetchedObject(info.document?.software)?.name)
  return about(
    href,
    name === undefined
      ? warning(`NodeInfo at ${href} does not name the software: ${info.error ?? `it answers ${info.status}`}`, fix)
      : ok(`NodeInfo says that ${name} runs here`),
  )
}

const keySetPath = '/.well-known/jwks.json'

/** Peers verify our cards and tokens by it. */
export async function checkKeySet(deps: DoctorDeps): Promise<CheckOutcome> {
  const url = deps.config.origin + keySetPath
  const published = await Promise.all(requireOpened(deps).channels.map(channel => channel.publishedKeys()))
  const own = published.flat().flatMap(({ publicKey }) => readKeyId(publicKey))
  const { document, status, error } = await lookAt(url, { accept: 'application/json' }, openPlatform(deps))
  return about(url, judgeKeySet(own, document, error ?? `it answers ${status}`))
}

function judgeKeySet(own: readonly string[], document: FetchedObject | undefined, problem: string): Verdict {
  const fix = `Let the proxy in front pass ${keySetPath} on to the gateway, and cache it for five minutes at most.`
  if (!document) return failure(`the key set cannot be had: ${problem}`, fix)
  const listed = new Set(asList(document.keys).map(key => asFetchedObject(key)?.kid))
  const missing = own.filter(kid => !listed.has(kid))
  return missing.length === 0
    ? ok(`the key set has our ${own.length === 1 ? 'key' : `${own.length} keys`}`)
    : failure(`the key set does not have our key ${missing.join(', ')}`, fix)
}

function readKeyId(publicKey: string): readonly string[] {
  if (!publicKey.startsWith('{')) return []
  const { kid } = parseJsonText(publicKey) as { readonly kid?: unknown }
  return typeof kid === 'string' ? [kid] : []
}

function openPlatform(deps: DoctorDeps) {
  return requireOpened(deps).openResolvePlatform()
}
