import type { Channel } from '@postern/core'
import { Rejection } from '@postern/core'
import type { GatewayStore } from '@postern/store'
import { Hono } from 'hono'
import { z } from 'zod'
import { readOwner } from '../owner.ts'
import { readOperatorRequest } from '../request.ts'

type OwnerRouteOptions = Pick<GatewayStore, 'forgetTasks' | 'unlinkAll' | 'transcript' | 'objects' | 'records'>

const problem = 'Cannot forget: say "owner", the key of somebody\u2019s chats, such as web:["https://id.example","ann"]'
const forgettingSchema = z.strictObject({ owner: z.string().max(8_000) })

/** Somebody who chats: all that is theirs, in every format, is deleted. */
export function createOwnerRoutes(store: OwnerRouteOptions, channels: readonly Pick<Channel, 'descriptor'>[]): Hono {
  return new Hono().post('/owners/forget', async context => {
    const request = await readOperatorRequest(context, forgettingSchema, { problem })
    const owner = readOwner(request.owner, channels)
    // To delete nothing, and say so, would be taken for done.
    if (owner === undefined) throw new Rejection('malformed', problem)
    return context.json({ owner, ...(await forgetOwner(owner, store)) })
  })
}

async function forgetOwner(owner: string, { forgetTasks, unlinkAll, transcript, objects, records }: OwnerRouteOptions) {
  return {
    links: await unlinkAll(owner),
    runs: await forgetTasks(owner),
    threads: await transcript.forgetOwner(owner),
    attachments: await objects.removeObjects(owner),
    records: await records.removeOwner(owner),
  }
}
