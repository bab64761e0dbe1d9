// Keeps the open A2A tasks of each room, so that later answers are shown in the right entry.
import { hash, randomBytes } from 'node:crypto'
import type { FinishedAnswer } from '@postern/a2a'
import type { ConnectorConfig } from '../config.ts'
import { callbackPath } from '../issuer/key-ring.ts'
import type { RoomPerson } from '../rooms/session.ts'
import type { KnownAgent } from './agent-line.ts'

/** A task at an agent, for as long as it may still get an answer. */
export interface TaskSeat {
  readonly room: string
  readonly address: string
  /** The owner of the task; absent if an agent began it. */
  readonly person: RoomPerson | undefined
  /** The secret that the agent shows when it reports that the task continues. */
  readonly token: string
  taskId: string | undefined
  /** The entry that shows its last answer, and the answer shown. */
  entryId: string | undefined
  shown: string | undefined
  isBusy: boolean
  isWatched: boolean
}

type SeatKey = Pick<TaskSeat, 'room' | 'address' | 'person'> & { readonly taskId?: string | undefined }

interface SeatOutcome {
  readonly answer: FinishedAnswer
  readonly entryId: string
  readonly isWaiting: boolean
  /** True if it waits for an answer in text: the person's next message to this agent continues it. */
  readonly isQuestion: boolean
}

export interface TaskSeats {
  /** Returns the named task, or the one that waits for this person's text, or else a new one, and marks it as busy. */
  seat(seatKey: SeatKey): TaskSeat
  /** Returns the `SendMessageConfiguration` with our callback, once for each task. */
  configure(seat: TaskSeat, agent: KnownAgent): Readonly<Record<string, unknown>> | undefined
  settle(seat: TaskSeat, outcome: SeatOutcome): void
  /** Frees the task after a failed call. */
  fail(seat: TaskSeat): void
  find(token: string): TaskSeat | undefined
  /** Returns true if this answer has not been shown. */
  isNews(seat: TaskSeat, answer: FinishedAnswer): boolean
}

const most = 2_000

export function createTaskSeats({ origin }: Pick<ConnectorConfig, 'origin'>): TaskSeats {
  const seats = new Map<string, TaskSeat>()
  const questions = new Map<string, TaskSeat>()
  const digest = ({ parts, status }: FinishedAnswer) => hash('sha256', JSON.stringify([status, parts]))

  function find({ room, address, person, taskId }: SeatKey): TaskSeat | undefined {
    if (taskId === undefined) return questions.get(questionKey({ room, address, person }))
    return [...seats.values()].find(seat => seat.taskId === taskId && seat.address === address)
  }

  function make({ room, address, person, taskId }: SeatKey): TaskSeat {
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
    seat(seatKey) {
      const existingSeat = find(seatKey)
      const seat = existingSeat && !(existingSeat.isBusy && seatKey.taskId === undefined) ? existingSeat : make(seatKey)
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

function questionKey({ room, address, person }: SeatKey): string {
  return JSON.stringify([room, address, person?.id])
}
