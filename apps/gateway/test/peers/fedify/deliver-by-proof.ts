// Delivers a note with a proof of its own through Fedify.
import { signObject } from '@fedify/fedify'
import { Create, Mention, Note } from '@fedify/vocab'
import { ourHost, ourOrigin } from '../names.ts'
import type { FedifyExam } from './ann-actions.ts'
import { findAgent, newId } from './ann-actions.ts'
import { ann } from './server.ts'

/** Delivers a note to the shared inbox with a proof of its own (FEP-8b32) and no HTTP signature. */
export async function deliverByProof(setup: FedifyExam, content: string): Promise<Note> {
  const { context, actor } = setup.fedify
  const agent = await findAgent(setup)
  const id = newId(setup, 'notes')
  const tags = [new Mention({ href: agent.id, name: `@echo@${ourHost}` })]
  const note = new Note({ id, attribution: actor, content: `<p>@echo ${content}</p>`, tags, to: agent.id })
  const published = Temporal.Now.instant()
  const create = new Create({ id: new URL('#create', id), actor, object: note, to: agent.id, published })
  const pair = (await context.getActorKeyPairs(ann)).find(({ privateKey }) => privateKey.algorithm.name === 'Ed25519')
  if (!pair) throw new Error('ann has no Ed25519 key')
  const signedActivity = await signObject(create, pair.privateKey, pair.multikey.id ?? actor, context)
  const response = await fetch(`${ourOrigin}/inbox`, {
    method: 'POST',
    headers: { 'content-type': 'application/activity+json' },
    body: JSON.stringify(await signedActivity.toJsonLd(context)),
  })
  if (response.status !== 202) throw new Error(`the inbox answered ${response.status}: ${await response.text()}`)
  return note
}
