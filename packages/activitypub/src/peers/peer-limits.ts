import type { Platform } from '@postern/core'
import { Unavailable, Undeliverable } from '@postern/core'
import { parseBoundedJson, parseMediaType } from '@postern/http'
import { createExpiringMap } from '../cache/expiring-map.ts'
import { createSharedWork } from '../cache/shared-work.ts'
import { findHost } from '../format/iri.ts'
import { asObject, listOf, textOf } from '../format/reading.ts'
import { commonLength, readInstanceLength, readLength, softwareNamed } from './post-lengths.ts'

/** How long a post may be for the people of a host: a hint, by which long answers are cut. */
export interface PeerLimits {
  /** Characters, as far as is known now; 500 for a host that was not asked, or did not answer. */
  recall(host: string): number
  /** Asks the host unless it was asked lately; those who ask at the same time wait for one look-up. Never throws. */
  learn(host: string): Promise<void>
}

const keepMs = { told: 86_400_000, failed: 3_600_000 } as const
const maxHosts = 5_000
/** For all requests to one host. */
const totalMs = 10_000
const maxBytes = 256 * 1024
const maxLinks = 20
/** Newest first. */
const schemas = ['2.2', '2.1', '2.0', '1.1', '1.0'].map(
  version => `http://nodeinfo.diaspora.software/ns/schema/${version}`,
)

/** Fetches JSON from that host, and from nowhere else. @throws Unavailable, Undeliverable, Rejection */
type GetJson = (url: string) => Promise<unknown>

interface Learnt {
  readonly length: number
  /** Whether the host itself gave the limit, or answered well enough that we know its software. */
  readonly isTold: boolean
}

export function createPeerLimits({ fetch, now }: Pick<Platform, 'fetch' | 'now'>): PeerLimits {
  const known = createExpiringMap<number>(maxHosts, now)
  const share = createSharedWork<void>()

  function openHost(): GetJson {
    const deadline = now() + totalMs
    return async url => {
      const timeoutMs = deadline - now()
      if (timeoutMs <= 0) throw new Unavailable('Cannot look up limits: no answer in time')
      const { status, headers, body } = await fetch(url, {
        timeoutMs,
        maxBytes,
        headers: { accept: 'application/json' },
      })
      const type = parseMediaType(headers.get('content-type') ?? '')?.type ?? ''
      if (status !== 200 || !/^application\/(?:[\w.-]+\+)?json$/.test(type)) {
        throw new Undeliverable('Cannot look up limits: the answer is no JSON')
      }
      return parseBoundedJson(body, { maxDepth: 16, what: 'description' })
    }
  }

  async function look(host: string): Promise<void> {
    const { length, isTold } = await findLength(host, openHost()).catch(() => unknownLength)
    known.set(host, length, isTold ? keepMs.told : keepMs.failed)
  }

  return {
    recall: host => known.get(host) ?? commonLength,
    async learn(host) {
      if (known.get(host) === undefined) await share(host, () => look(host))
    },
  }
}

const unknownLength: Learnt = { length: commonLength, isTold: false }

/** The limit in NodeInfo, or else in the instance document, or else the default of its software. */
async function findLength(host: string, getJson: GetJson): Promise<Learnt> {
  const nodeInfo = await fetchNodeInfo(host, getJson)
  const length = readLength(asObject(nodeInfo?.metadata)?.maxNoteTextLength)
  if (length !== undefined) return { length, isTold: true }
  const software = softwareNamed(textOf(asObject(nodeInfo?.software)?.name))
  if (!software.hasInstanceApi) return { length: software.length, isTold: true }
  const told = await findInstanceLength(host, getJson)
  return { length: told ?? software.length, isTold: told !== undefined }
}

async function fetchNodeInfo(host: string, getJson: GetJson): Promise<ReturnType<typeof asObject>> {
  if (findHost(`https://${host}/`) !== host) throw new Undeliverable('Cannot look up limits: the host is no name')
  const discovery = asObject(await getJson(`https://${host}/.well-known/nodeinfo`))
  const links = listOf(discovery?.links).slice(0, maxLinks).map(asObject)
  const hrefs = schemas.map(schema => textOf(links.find(link => link?.rel === schema)?.href))
  const href = hrefs.find(href => href !== undefined && findHost(href) === host)
  if (!href) throw new Undeliverable('Cannot look up limits: there is no description on the same host')
  return asObject(await getJson(href))
}

async function findInstanceLength(host: string, getJson: GetJson): Promise<number | undefined> {
  for (const version of ['v2', 'v1']) {
    const length = await getJson(`https://${host}/api/${version}/instance`).then(readInstanceLength, () => undefined)
    if (length !== undefined) return length
  }
  return undefined
}
