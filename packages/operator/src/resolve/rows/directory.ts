// Judges the directory of agents (MN-1.5).
import type { Verdict } from '../../checks/verdict.ts'
import { ok, warning } from '../../checks/verdict.ts'
import type { PeerView } from '../view/peer.ts'
import type { FetchedFile } from '../view/peer-fetch.ts'
import { listOrEmpty } from '../view/peer-fetch.ts'
import { contactPointFix, findContactPoint } from './contact-point.ts'
import type { AddressCheck } from './row.ts'

export const directoryRows: readonly AddressCheck[] = [
  { id: 'directory.answer', section: '§1.5', judge: ({ directory }) => directory && judgeDirectory(directory) },
  { id: 'directory.entry', section: '§1.5', judge: judgeDirectoryEntry },
]

function judgeDirectory({ status, error, document, url }: FetchedFile): Verdict {
  if (document) return ok(`the directory is ${url}`)
  return warning(
    `there is no directory of agents: ${error ?? (status === 200 ? 'it is not a JSON object' : status)}`,
    contactPointFix,
  )
}

function judgeDirectoryEntry(view: PeerView): Verdict | undefined {
  const data = view.directory?.document
  if (!data) return undefined
  if (!listOrEmpty(Array.isArray(data['@type']) ? data['@type'] : [data['@type']]).includes('Organization'))
    return warning('the directory is not a schema.org Organization', contactPointFix)
  const entry = findContactPoint(data, view)
  if (!entry) return warning('the directory does not name this agent', contactPointFix)
  return entry.contactType === 'AI assistant'
    ? ok('the directory names this agent')
    : warning('the directory does not call it an "AI assistant"', 'Set "contactType" to "AI assistant".')
}
