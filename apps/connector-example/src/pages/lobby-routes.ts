// Routes login, logout and the list of rooms.

import { networkOf, parseMediaType, peerAddress, readBody } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import { Rejection } from '@postern/message'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { ConnectorConfig } from '../config.ts'
import type { Rooms } from '../rooms/rooms.ts'
import type { Sessions } from '../rooms/session.ts'
import { createPerson } from '../rooms/session.ts'
import type { Viewer } from './page.ts'
import { renderLobby, renderLogin } from './page.ts'

export interface LobbyDeps extends VisitDeps {
  readonly rooms: Rooms
  now(): number
}

const first = 'lobby'

/** Creates the routes for login, logout and the list of rooms. */
export function createLobbyRoutes(deps: LobbyDeps): Hono {
  const { config, sessions, rooms, now } = deps
  const logins = createRateLimit({ perMinute: config.limits.loginsPerMinute }, now)
  const openings = createRateLimit({ perMinute: config.limits.roomsPerMinute }, now)
  const cookie = { httpOnly: true, sameSite: 'Lax', path: '/', secure: !config.dev } as const

  return new Hono()
    .get('/', context => {
      const viewer = findViewer(context, deps)
      return context.html(viewer ? renderLobby(config.name, rooms.list(), viewer) : renderLogin(config.name))
    })
    .post('/login', async context => {
      checkOwnPage(context)
      logins.consume(visitorNetwork(context, config))
      const person = createPerson((await readForm(context.req.raw)).get('name') ?? '')
      setCookie(context, cookieName(config), sessions.issue(person), cookie)
      return context.redirect(`/rooms/${first}`, 303)
    })
    .post('/logout', async context => {
      await readCheckedForm(context, deps)
      deleteCookie(context, cookieName(config), cookie)
      return context.redirect('/', 303)
    })
    .post('/rooms', async context => {
      const { form } = await readCheckedForm(context, deps)
      openings.consume(visitorNetwork(context, config))
      const { name } = rooms.open(form.get('name') ?? '')
      return context.redirect(`/rooms/${name}`, 303)
    })
}

const maxForm = 64 * 1024

/** Returns the name of the cookie. The prefix `__Host-` binds it to one host and requires https, which dev mode does not have. */
function cookieName({ dev }: Pick<ConnectorConfig, 'dev'>): string {
  return dev ? 'chat' : '__Host-chat'
}

/** Reads the fields of a posted form. @throws Rejection `too_large`, `unsupported`, `malformed` */
async function readForm(request: Request): Promise<URLSearchParams> {
  const type = parseMediaType(request.headers.get('content-type'))?.type
  if (type !== 'application/x-www-form-urlencoded') throw new Rejection('unsupported', 'A form was expected')
  const bytes = await readBody(request, maxForm)
  return new URLSearchParams(Buffer.from(bytes).toString())
}

/**
 * Checks by the headers of the browser that a request comes from a page of ours. Without these headers, only the token in the form protects.
 * @throws Rejection `forbidden`
 */
function checkOwnPage(context: Context): void {
  const site = context.req.header('sec-fetch-site') ?? 'same-origin'
  const source = context.req.header('origin')
  const isOwn = source === undefined || URL.parse(source)?.host === context.req.header('host')
  if ((site === 'same-origin' || site === 'none') && isOwn) return
  throw new Rejection('forbidden', 'This form is not from here')
}

interface VisitDeps {
  readonly config: ConnectorConfig
  readonly sessions: Sessions
}

/** Finds the person who is logged in with this browser; undefined if nobody is. */
function findViewer(context: Context, { config, sessions }: VisitDeps): Viewer | undefined {
  const person = sessions.readPerson(getCookie(context, cookieName(config)))
  return person && { person, formToken: sessions.formToken(person) }
}

/** Returns the person who is logged in with this browser. @throws Rejection `unsigned` if nobody is */
export function requireViewer(context: Context, deps: VisitDeps): Viewer {
  const viewer = findViewer(context, deps)
  if (!viewer) throw new Rejection('unsigned', 'Nobody knows you here: come in first')
  return viewer
}

/** Reads a form that a logged-in person submits from a page of ours, and checks its token. @throws Rejection */
export async function readCheckedForm(
  context: Context,
  rooms: VisitDeps,
): Promise<{ readonly viewer: Viewer; readonly form: URLSearchParams }> {
  checkOwnPage(context)
  const viewer = requireViewer(context, rooms)
  const form = await readForm(context.req.raw)
  rooms.sessions.checkForm(viewer.person, form.get('csrf') ?? '')
  return { viewer, form }
}

/** Names the network of a visitor: one subscriber. */
export function visitorNetwork(context: Context, { behindProxy }: Pick<ConnectorConfig, 'behindProxy'>): string {
  const forwardedFor = behindProxy ? context.req.header('x-forwarded-for')?.split(',').at(-1)?.trim() : undefined
  return networkOf(forwardedFor ?? peerAddress(context.env))
}
