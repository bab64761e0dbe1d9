import { hash, randomBytes } from 'node:crypto'
import type { FinishedAnswer } from '@postern/a2a'
import type { ConnectorConfig } from '../config.ts'
import { callbackPath } from '../issuer/key-ring.ts'
import type { RoomPerson } from '../rooms/session.ts'
import type { KnownAgent } from './agent-line.ts'

/** A task at an agent, as long as something may come of it. */
export interface TaskSeat {
  readonly room: string
  readonly address: string
  /** Whose it is; absent where an agent began it. */
  readonly person: RoomPerson | undefined
  /** What the agent shows when it tells us that the task goes on. */
  readonly token: string
  taskId: string | undefined
  /** Where its last answer is shown, and which that was. */
  entryId: string | undefined
  shown: string | undefined
  isBusy: boolean
  isWatched: boolean
}

type SeatPlace = Pick<TaskSeat, 'room' | 'address' | 'person'> & { readonly taskId?: string | undefined }

interface SeatOutcome {
  readonly answer: FinishedAnswer
  readonly entryId: string
  readonly isWaiting: boolean
  /** It waits for an answer in words: the person's next message to this agent goes on with it. */
  readonly isQuestion: boolean
}

export interface TaskSeats {
  /** The one that is named or waits for this person's words, else a new one; it is busy from now on. */
  seat(place: SeatPlace): TaskSeat
  /** `SendMessageConfiguration`: where to tell us what comes later, once for each task. */
  configure(seat: TaskSeat, agent: KnownAgent): Readonly<Record<string, unknown>> | undefined
  settle(seat: TaskSeat, outcome: SeatOutcome): void
  /** Nothing came of it this time. */
  fail(seat: TaskSeat): void
  find(token: string): TaskSeat | undefined
  /** Whether this answer has not been shown. */
  isNews(seat: TaskSeat, answer: FinishedAnswer): boolean
}

const most = 2_000

export function createTaskSeats({ origin }: Pick<ConnectorConfig, 'origin'>): TaskSeats {
  const seats = new Map<string, TaskSeat>()
  const questions = new Map<string, TaskSeat>()
  const digest = ({ parts, status }: FinishedAnswer) => hash('sha256', JSON.stringify([status, parts]))

  function find({ room, address, person, taskId }: SeatPlace): TaskSeat | undefined {
    if (taskId === undefined) return questions.get(questionKey({ room, address, person }))
    return [...seats.values()].find(seat => seat.taskId === taskId && seat.address === address)
  }

  function make({ room, address, person, taskId }: SeatPlace): TaskSeat {
    const token = randomBytes(24).toString('base64url')
    const state = { taskId, entryId: undefined, shown: undefined, isBusy: false, isWatched: false }
    const seat: TaskSeat = { room, address, person, token, ...state }
    seats.set(token, seat)
    const [oldest] = seats.values()
    if (seats.size > most && oldest) forget(oldest)
    return seat
  }

  function forget(seat: TaskSeat): void {
    seats.delete(seat.token)
    const key = questionKey(seat)
    if (questions.get(key) === seat) questions.delete(key)
  }

  return {
    seat(place) {
      const known = find(place)
      const seat = known && !(known.isBusy && place.taskId === undefined) ? known : make(place)
      seat.isBusy = true
      return seat
    },
    configure(seat, { canPush }) {
      if (!canPush || seat.isWatched) return undefined
      seat.isWatched = true
      return { taskPushNotificationConfig: { url: origin + callbackPath, token: seat.token } }
    },
    settle(seat, { answer, entryId, isWaiting, isQuestion }) {
      Object.assign(seat, { taskId: answer.taskId, entryId, shown: digest(answer), isBusy: false })
      if (!isWaiting) forget(seat)
      else if (isQuestion) questions.set(questionKey(seat), seat)
      else questions.delete(questionKey(seat))
    },
    fail(seat) {
      seat.isBusy = false
      if (seat.entryId === undefined) forget(seat)
    },
    find: token => seats.get(token),
    isNews: (seat, answer) => seat.shown !== digest(answer),
  }
}

function questionKey({ room, address, person }: SeatPlace): string {
  return JSON.stringify([room, address, person?.id])
}
