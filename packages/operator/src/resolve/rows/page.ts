// Judges the profile page of an agent (MN-1.5).
import type { Verdict } from '../../checks/verdict.ts'
import { ok, warning } from '../../checks/verdict.ts'
import type { PeerView } from '../view/peer.ts'
import type { FetchedFile } from '../view/peer-fetch.ts'
import { contactPointFix, findContactPoint } from './contact-point.ts'
import { readDataBlocks } from './data-blocks.ts'
import type { AddressCheck } from './row.ts'

export const pageRows: readonly AddressCheck[] = [
  { id: 'page.answer', section: '§1.3', judge: ({ page }) => page && judgePage(page) },
  { id: 'page.json_ld', section: '§1.5', judge: judgePageData },
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
  return blocks.some(data => findContactPoint(data, view))
    ? ok('the profile page describes this agent to machines (JSON-LD)')
    : warning('the profile page does not describe this agent to machines', contactPointFix)
}
