// Handles `Flag`, by which another server reports an agent or its posts.
import type { Part } from '@postern/message'
import { findWebUrl } from '../../format/iri.ts'
import { idsOf, textOf } from '../../format/json-object.ts'
import { findAgentName, parsePostIri } from '../../format/own-iris.ts'
import { readPostText } from '../../html/read-note.ts'
import { createEventParts, createHiddenIntakes } from '../../normalize.ts'
import type { ActivityKind, ResolvedActivity } from '../activity-kind.ts'

/** Handles a report, which is shown to the operator and never to the agent. */
export const flag: ActivityKind = {
  async find({ activity }, { agents }) {
    const reportedAgents = idsOf(activity.json.object).flatMap(
      iri => findAgentName(iri, agents) ?? agents.find(parsePostIri(iri, agents)?.agent ?? '')?.name ?? [],
    )
    return reportedAgents.length > 0 ? { agents: [...new Set(reportedAgents)] } : undefined
  },
  toIntakes: resolved =>
    createHiddenIntakes(resolved, () => ({
      kind: 'message',
      parts: readReport(resolved),
      flags: ['report'],
    })),
}

function readReport({ proven: { activity } }: ResolvedActivity): readonly Part[] {
  const { text } = readPostText(textOf(activity.json.content) ?? '')
  const links = idsOf(activity.json.object).flatMap(iri => findWebUrl(iri) ?? [])
  return [
    ...createEventParts(text ? `Report: ${text}` : 'Report'),
    ...links.map((url): Part => ({ kind: 'link', url, title: 'Reported' })),
  ]
}
