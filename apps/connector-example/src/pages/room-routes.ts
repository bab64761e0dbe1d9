// Routes one room: its page, new messages, decisions and the event stream.

import { createRateLimit } from '@postern/limits'
import { Rejection } from '@postern/message'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { acquireBoth, createCallSlots } from '../agents/agent-slots.ts'
import type { Dispatch } from '../agents/dispatch.ts'
import { cleanAnswerText } from '../agents/show-answer.ts'
import type { RoomDecision } from '../rooms/requirements.ts'
import type { Room, RoomEntry, Rooms } from '../rooms/rooms.ts'
import type { LobbyDeps } from './lobby-routes.ts'
import { readCheckedForm, requireViewer, visitorNetwork } from './lobby-routes.ts'
import type { Viewer } from './page.ts'
import { renderEntry, renderRoom } from './page.ts'

interface ChatDeps extends LobbyDeps {
  readonly dispatch: Dispatch
  readonly closing: AbortSignal
}

const outcomes: Readonly<Record<string, RoomDecision['outcome']>> = { grant: 'granted', decline: 'declined' }

/** Creates the routes of one room: its entries and new messages. */
export function createRoomRoutes(deps: ChatDeps): Hono {
  const { config, rooms, dispatch, closing } = deps
  const { limits } = config
  const acquireStream = createStreamLimits(config)
  const readRoomForm = createRoomFormReader(deps)

  return new Hono()
    .get('/rooms/:room', context => {
      const room = findRoom(context, rooms)
      const viewer = requireViewer(context, deps)
      room.enter(viewer.person)
      const entries = room.listEntriesAfter(0)
      const revision = room.revision()
      return context.html(renderRoom({ room, entries, revision, viewer, maxChars: limits.textChars }))
    })
    .post('/rooms/:room/messages', async context => {
      const { room, person, form } = await readRoomForm(context)
      const text = cleanAnswerText(form.get('text') ?? '').trim()
      if (text === '') throw new Rejection('malformed', 'Nothing was said')
      if (text.length > limits.textChars) throw new Rejection('too_large', 'That is too long')
      dispatch.acceptMessage(room, person, text)
      return context.redirect(`/rooms/${room.name}`, 303)
    })
    .post('/rooms/:room/decisions', async context => {
      const { room, person, form } = await readRoomForm(context)
      const outcome = outcomes[form.get('decision') ?? '']
      if (outcome === undefined) throw new Rejection('malformed', 'Neither yes nor no')
      dispatch.decide(room, person, { token: form.get('requirement') ?? '', outcome })
      return context.redirect(`/rooms/${room.name}`, 303)
    })
    .get('/rooms/:room/events', context => {
      const room = findRoom(context, rooms)
      const viewer = requireViewer(context, deps)
      room.enter(viewer.person)
      const requestedEntry = Number(context.req.header('last-event-id') ?? context.req.query('after'))
      const lastRevision = Number.isSafeInteger(requestedEntry) ? requestedEntry : 0
      return streamEntries(context, {
        room,
        viewer,
        after: lastRevision,
        release: acquireStream(context, viewer),
        closing,
      })
    })
}

/** Creates the reader of a room's forms, which limits their rate. */
function createRoomFormReader(deps: ChatDeps) {
  const { config, rooms, now } = deps
  const { limits } = config
  const perPerson = createRateLimit({ perMinute: limits.messagesPerMinute, burst: 10 }, now)
  const perNetwork = createRateLimit({ perMinute: limits.messagesPerAddress }, now)
  return async (context: Context) => {
    const room = findRoom(context, rooms)
    const { viewer, form } = await readCheckedForm(context, deps)
    perNetwork.consume(visitorNetwork(context, config))
    perPerson.consume(viewer.person.id)
    room.enter(viewer.person)
    return { room, person: viewer.person, form }
  }
}

/** Creates the limits of open windows: of a person, and of a network address. The returned function @throws Rejection `rate_limited` */
function createStreamLimits(config: ChatDeps['config']) {
  const { limits } = config
  const tooMany = 'Too many windows are open'
  const streams = createCallSlots({ total: limits.streams, perKey: limits.streamsPerPerson }, tooMany)
  const networks = createCallSlots({ total: limits.streams, perKey: limits.streamsPerAddress }, tooMany)
  return (context: Context, { person }: Viewer): (() => void) =>
    acquireBoth(networks(visitorNetwork(context, config)), () => streams(person.id))
}

function findRoom(context: Context, rooms: Rooms): Room {
  const room = rooms.findRoom(context.req.param('room') ?? '')
  if (!room) throw new Rejection('no_recipient', 'There is no such room')
  return room
}

interface EntryStreamOptions {
  readonly room: Room
  readonly viewer: Viewer
  /** The last revision that the reader has. */
  readonly after: number
  readonly closing: AbortSignal
  release(): void
}

const heartbeatMs = 20_000

/**
 * Streams new entries of a room (server-sent events): each as HTML of the page, for this viewer. A slow reader misses intermediate changes,
 * and costs no memory.
 */
function streamEntries(context: Context, { room, viewer, after, closing, release }: EntryStreamOptions): Response {
  context.header('x-accel-buffering', 'no')
  return streamSSE(context, async stream => {
    const disconnected = new AbortController()
    stream.onAbort(() => disconnected.abort())
    const signal = AbortSignal.any([disconnected.signal, closing])
    const writeEntry = async ({ id, revision }: RoomEntry, html: string) =>
      stream.writeSSE({ event: 'entry', id: String(revision), data: JSON.stringify({ id: `e-${id}`, html }) })
    // A number from before a restart of the server is meaningless, so every entry is sent.
    let knownRevision = after > room.revision() ? 0 : after
    try {
      while (!signal.aborted) {
        const seenRevision = room.revision()
        for (const entry of room.listEntriesAfter(knownRevision)) {
          await writeEntry(entry, String(await renderEntry(entry, `/rooms/${room.name}`, viewer)))
        }
        knownRevision = seenRevision
        if (room.revision() > knownRevision) continue
        await waitForChange(room, signal)
        if (room.revision() === knownRevision) await stream.write(': here\n\n')
      }
    } finally {
      release()
    }
  })
}

/** Waits for a change, or until a line must be sent to keep proxies from closing the stream. */
function waitForChange(room: Room, signal: AbortSignal): Promise<void> {
  return room.nextChange(AbortSignal.any([signal, AbortSignal.timeout(heartbeatMs)]))
}
