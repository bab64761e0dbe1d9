// Judges the profile page and the directory of agents (MN-1.5).
import { parseJsonText } from '@postern/message'
import type { Verdict } from '../../checks/verdict.ts'
import { ok, warning } from '../../checks/verdict.ts'
import type { FetchedFile, FetchedObject } from '../view/fetched.ts'
import { listOrEmpty, objectOrUndefined, textOrUndefined } from '../view/fetched.ts'
import type { PeerView } from '../view/peer.ts'
import type { AddressCheck } from './row.ts'

const describeFix = 'Describe it as a schema.org Organization with one ContactPoint for each agent (JSON-LD).'

export const surfaceRows: readonly AddressCheck[] = [
  { id: 'page.answer', section: '§1.3', judge: ({ page }) => page && judgePage(page) },
  { id: 'page.json_ld', section: '§1.5', judge: judgePageData },
  { id: 'directory.answer', section: '§1.5', judge: ({ directory }) => directory && judgeDirectory(directory) },
  { id: 'directory.entry', section: '§1.5', judge: judgeDirectoryEntry },
]

function judgePage({ status, type, error, url }: FetchedFile): Verdict {
  const fix = 'Serve a page for people there.'
  if (error !== undefined || status !== 200) return warning(`cannot fetch the profile page: ${error ?? status}`, fix)
  return type === 'text/html' || type === 'application/xhtml+xml'
    ? ok(`the profile page is ${url}`)
    : warning(`the profile page is served as ${type ?? 'nothing'}`, fix)
}

/** Judges the JSON-LD of the page, unless there is no agent card, without which the account is not an agent of this system. */
function judgePageData(view: PeerView): Verdict | undefined {
  const { page, card } = view
  if (page?.status !== 200 || !card) return undefined
  const blocks = readDataBlocks(page.text ?? '')
  return blocks.some(data => findContact(data, view))
    ? ok('the profile page describes this agent to machines (JSON-LD)')
    : warning('the profile page does not describe this agent to machines', describeFix)
}

function judgeDirectory({ status, error, document, url }: FetchedFile): Verdict {
  if (document) return ok(`the directory is ${url}`)
  return warning(
    `there is no directory of agents: ${error ?? (status === 200 ? 'it is not a JSON object' : status)}`,
    describeFix,
  )
}

function judgeDirectoryEntry(view: PeerView): Verdict | undefined {
  const data = view.directory?.document
  if (!data) return undefined
  if (!listOrEmpty(Array.isArray(data['@type']) ? data['@type'] : [data['@type']]).includes('Organization'))
    return warning('the directory is not a schema.org Organization', describeFix)
  const entry = findContact(data, view)
  if (!entry) return warning('the directory does not name this agent', describeFix)
  return entry.contactType === 'AI assistant'
    ? ok('the directory names this agent')
    : warning('the directory does not call it an "AI assistant"', 'Set "contactType" to "AI assistant".')
}

function readDataBlocks(html: string): readonly FetchedObject[] {
  return listDataBlocks(html).flatMap(text => {
    try {
      const data: unknown = parseJsonText(text)
      return listOrEmpty(Array.isArray(data) ? data : [data])
        .map(objectOrUndefined)
        .filter(block => block !== undefined)
    } catch {
      return []
    }
  })
}

/** Finds the contact point of the agent, by its account, its mail or its card. */
function findContact({ contactPoint }: FetchedObject, { account, card, address }: PeerView): FetchedObject | undefined {
  const ownAddresses = new Set([account, `${address.local}@${address.domain}`, card?.url])
  const points = Array.isArray(contactPoint) ? contactPoint : [contactPoint]
  return points
    .map(objectOrUndefined)
    .find(point =>
      [point?.url, point?.email, ...webFingersOf(point)].some(value =>
        ownAddresses.has(textOrUndefined(value)?.replace(/^mailto:/, '')),
      ),
    )
}

/** Returns the WebFinger values. The term may be a full IRI, or have any prefix of the context. */
function webFingersOf(point: FetchedObject | undefined): readonly unknown[] {
  return Object.entries(point ?? {}).flatMap(([term, value]) => (/[#:]webfinger$/.test(term) ? [value] : []))
}

/** Matches the start tag of a script with its attributes, or an end tag. The limit keeps the time linear for a page full of start tags. */
const scriptMark = /<script\b([^<>]{0,1000})>|<\/script/gi
const dataTypePattern = /\btype\s{0,9}=\s{0,9}["']?application\/ld\+json\b/i
const maxBlocks = 16

/** Returns the texts of a page’s JSON-LD blocks in order, at most 16. */
export function listDataBlocks(html: string): readonly string[] {
  const texts: string[] = []
  let script: { readonly start: number; readonly isData: boolean } | undefined
  for (const { 0: mark, 1: attributes, index } of html.matchAll(scriptMark)) {
    if (attributes === undefined) {
      if (script?.isData) texts.push(html.slice(script.start, index))
      if (texts.length === maxBlocks) break
      script = undefined
    } else script ??= { start: index + mark.length, isData: dataTypePattern.test(attributes) }
  }
  return texts
}
