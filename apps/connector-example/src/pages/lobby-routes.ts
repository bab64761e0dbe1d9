import { createRateLimit } from '@postern/limits'
import { Hono } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import type { Rooms } from '../rooms/rooms.ts'
import { makePerson } from '../rooms/session.ts'
import { renderLobby, renderLogin } from './page.ts'
import type { VisitDeps } from './visit.ts'
import { checkOwnPage, cookieName, findViewer, readForm, takeForm, visitorNetwork } from './visit.ts'

export interface LobbyDeps extends VisitDeps {
  readonly rooms: Rooms
  now(): number
}

const first = 'lobby'

/** Coming in, going, and finding a room. */
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
      logins.take(visitorNetwork(context, config))
      const person = makePerson((await readForm(context.req.raw)).get('name') ?? '')
      setCookie(context, cookieName(config), sessions.issue(person), cookie)
      return context.redirect(`/rooms/${first}`, 303)
    })
    .post('/logout', async context => {
      await takeForm(context, deps)
      deleteCookie(context, cookieName(config), cookie)
      return context.redirect('/', 303)
    })
    .post('/rooms', async context => {
      const { form } = await takeForm(context, deps)
      openings.take(visitorNetwork(context, config))
      const { name } = rooms.open(form.get('name') ?? '')
      return context.redirect(`/rooms/${name}`, 303)
    })
}
