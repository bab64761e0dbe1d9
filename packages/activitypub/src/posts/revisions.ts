import type { Json } from '@postern/core'
import type { Revision } from '../format/post-data.ts'

type Members = Readonly<Record<string, Json | undefined>>

/** The `Update` that carries a changed post. Pure. */
export function renderUpdate({ '@context': context, ...note }: Members, { id, at }: Revision): Members {
  return {
    '@context': context,
    id: `${String(note.id)}/updates/${id}`,
    type: 'Update',
    actor: note.attributedTo,
    published: at,
    to: note.to,
    cc: note.cc,
    object: note,
  }
}

/** The `Delete` of the post with this id, for those whom `audience` names. Pure. */
export function renderDelete(
  post: string,
  { '@context': context, actor, ...audience }: Members,
  { id, at }: Revision,
): Members {
  return {
    '@context': context,
    id: `${post}/deletes/${id}`,
    type: 'Delete',
    actor,
    published: at,
    ...audience,
    object: { id: post, type: 'Tombstone' },
  }
}
