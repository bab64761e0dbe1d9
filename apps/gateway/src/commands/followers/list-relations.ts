import type { Page, Relation, RelationKind, RelationStore } from '@postern/core'
import { containsText, filterPage, isWithin, passing } from '../../api/filter-page.ts'

interface RelationPage extends Page {
  readonly relation: RelationKind
  readonly agent?: string | undefined
  readonly channel?: string | undefined
  /** The channel of an agent's relations where none is named. */
  readonly usual: string | undefined
  readonly sender?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** One page of relations of one kind, oldest first. */
export function listRelationPage(
  store: Pick<RelationStore, 'listRelations'>,
  { relation, agent, usual, channel = agent === undefined ? undefined : usual, sender, ...rest }: RelationPage,
): Promise<{ readonly items: readonly Relation[]; readonly next: number | null }> {
  // There is an index of those of one agent by one channel.
  const filter = agent !== undefined && channel !== undefined ? { relation, agent, via: channel } : {}
  return filterPage(
    rest,
    page => store.listRelations({ ...filter, ...page }),
    passing(
      row =>
        row.relation === relation &&
        (agent === undefined || row.agent === agent) &&
        (channel === undefined || row.via === channel) &&
        containsText(row.peer, sender) &&
        isWithin(row.since, rest),
    ),
  )
}
