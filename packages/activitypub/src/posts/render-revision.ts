import { agentIris } from '../format/own-iris.ts'
import type { Revision } from '../format/revision.ts'
import { partsOfPiece } from './pieces.ts'
import type { Answered, JsonMembers } from './render.ts'
import { idOfPiece, postContext, renderAudience, renderNote } from './render.ts'

/** The `Update` or `Delete` of one post. A post that the new words no longer need is deleted. Pure. */
export function renderRevision(answered: Answered, revision: Revision): JsonMembers {
  const { response, rendering, piece = 0 } = answered
  const isLeft = revision.act === 'edit' && partsOfPiece(response.parts, rendering, piece) !== undefined
  return isLeft ? renderUpdate(answered, revision) : renderDelete(answered, revision)
}

function renderUpdate(answered: Answered, { id, at }: Revision): JsonMembers {
  const { '@context': context, ...note } = renderNote({ ...answered, editedAt: at })
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

function renderDelete(answered: Answered, { id, at }: Revision): JsonMembers {
  const { origin, agent, piece = 0 } = answered
  const post = idOfPiece(answered, piece)
  return {
    '@context': postContext,
    id: `${post}/deletes/${id}`,
    type: 'Delete',
    actor: agentIris(origin, agent).actor,
    published: at,
    ...renderAudience(answered),
    object: { id: post, type: 'Tombstone' },
  }
}
