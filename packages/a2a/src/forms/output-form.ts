// Converts texts to a form that the client can show (A2A §3.2.2, `acceptedOutputModes`).
import { htmlToMarkdown, htmlToText } from '@postern/markup/html'
import { markdownToMailHtml } from '@postern/markup/markdown'
import { parseIfJson } from '@postern/message'
import { escapeHtml } from '@postern/message/html-characters'
import { mediaTypeOf } from '../format/part-content.ts'
import type { WireArtifact, WireMessage, WirePart, WireStreamEvent, WireTask } from '../format/wire.ts'
import { isWireStateAtRest } from '../format/wire.ts'
import type { Sink } from '../streams/sse.ts'
import { EventStream } from '../streams/sse.ts'

/** The conversion of parts to the media types that one client accepts. */
export interface OutputForm {
  /** Returns true if the conversion changes a part. */
  changes(part: WirePart): boolean
  convertParts(parts: readonly WirePart[]): readonly WirePart[]
}

type Convert = (text: string) => WirePart | undefined

const toPlainText = (text: string): WirePart => ({ text, mediaType: 'text/plain' })
const markdown = (text: string): WirePart => ({ text, mediaType: 'text/markdown' })
const html = (text: string): WirePart => ({ text, mediaType: 'text/html' })

/** The forms of a text by its media type, the closest one first. */
const forms: Readonly<Record<string, readonly (readonly [mediaType: string, convert: Convert])[]>> = {
  'text/markdown': [
    ['text/html', text => html(markdownToMailHtml(text))],
    ['text/plain', text => toPlainText(htmlToText(markdownToMailHtml(text)).text)],
    ['application/json', readJson],
  ],
  'text/html': [
    ['text/markdown', text => markdown(htmlToMarkdown(text))],
    ['text/plain', text => toPlainText(htmlToText(text).text)],
  ],
  'text/plain': [
    ['text/markdown', text => markdown(text.replace(/[\\`*_[\]<>#|~]/g, '\\$&'))],
    ['text/html', text => html(`<p>${escapeHtml(text).replaceAll('\n', '<br>')}</p>`)],
    ['application/json', readJson],
  ],
}

/** Reads a text that is one JSON object or array. */
function readJson(text: string): WirePart | undefined {
  const data = /^\s*[[{]/.test(text) ? parseIfJson(text) : undefined
  return data === undefined ? undefined : { data: data as never, mediaType: 'application/json' }
}

/** Chooses the form of texts for a client. Returns undefined if it accepts everything, or names no types. */
export function chooseOutputForm(acceptedModes: readonly string[] = []): OutputForm | undefined {
  const modes = acceptedModes.map(mode => mode.toLowerCase().split(';')[0]?.trim() ?? '')
  if (modes.length === 0) return undefined
  // Older clients write `text` for every text type.
  const accepts = (type: string) =>
    modes.some(mode => [type, `${type.split('/')[0]}/*`, type.split('/')[0], '*/*', '*'].includes(mode))
  const formsOf = (part: WirePart) => {
    if (part.text === undefined || accepts(mediaTypeOf(part))) return []
    return (forms[mediaTypeOf(part)] ?? []).filter(([type]) => accepts(type))
  }
  return {
    changes: part => formsOf(part).length > 0,
    convertParts: parts =>
      parts.map(part => {
        for (const [, convert] of formsOf(part)) {
          const { text: _, mediaType: __, ...otherMembers } = part
          const convertedText = convert(part.text ?? '')
          if (convertedText) return { ...otherMembers, ...convertedText }
        }
        return part
      }),
  }
}

export function formTask(task: WireTask, form: OutputForm | undefined): WireTask {
  if (!form) return task
  const { status, artifacts } = task
  return {
    ...task,
    status: status.message ? { ...status, message: formMessage(status.message, form) } : status,
    ...(artifacts && {
      artifacts: artifacts.map(artifact => ({ ...artifact, parts: form.convertParts(artifact.parts) })),
    }),
  }
}

export function formMessage(message: WireMessage, form: OutputForm | undefined): WireMessage {
  return form ? { ...message, parts: form.convertParts(message.parts) } : message
}

/** Returns the same stream for a client with a form of its own. */
export function formStream(stream: EventStream, form: OutputForm | undefined): EventStream {
  return form ? new EventStream(sink => stream.start(createFormSink(sink, form))) : stream
}

/** Creates a sink that converts texts. Pieces of a text wait for its end, because only a whole text can be converted. */
function createFormSink(sink: Sink, form: OutputForm): Sink {
  const pending = new Map<string, PendingArtifact>()
  const flush = (id: string) => {
    for (const { event, parts } of pending.values()) {
      const { append: _, ...update } = event.artifactUpdate
      const artifact = { ...update.artifact, parts: form.convertParts(parts) }
      sink.send({ artifactUpdate: { ...update, artifact, lastChunk: true } }, id)
    }
    pending.clear()
  }
  const mustWait = (event: ArtifactEvent): boolean => {
    const { artifact, append } = event.artifactUpdate
    const before = pending.get(artifact.artifactId)
    if (!before && !artifact.parts.some(form.changes)) return false
    const parts = append && before ? joinPieces(before.parts, artifact) : artifact.parts
    pending.set(artifact.artifactId, { event, parts })
    return true
  }
  return {
    ...sink,
    send(event, id) {
      if ('artifactUpdate' in event && mustWait(event)) return
      if ('statusUpdate' in event && isWireStateAtRest(event.statusUpdate.status.state)) flush(id)
      sink.send(formEvent(event, form), id)
    },
  }
}

interface PendingArtifact {
  readonly event: ArtifactEvent
  readonly parts: readonly WirePart[]
}

type ArtifactEvent = Extract<WireStreamEvent, { artifactUpdate: unknown }>

function formEvent(event: WireStreamEvent, form: OutputForm): WireStreamEvent {
  if ('task' in event) return { task: formTask(event.task, form) }
  if ('message' in event) return { message: formMessage(event.message, form) }
  if (!('statusUpdate' in event)) return event
  const { status } = event.statusUpdate
  if (!status.message) return event
  return { statusUpdate: { ...event.statusUpdate, status: { ...status, message: formMessage(status.message, form) } } }
}

function joinPieces(before: readonly WirePart[], { parts: [first, ...remaining] }: WireArtifact): readonly WirePart[] {
  const last = before.at(-1)
  if (first?.text === undefined || last?.text === undefined || first.mediaType !== last.mediaType) {
    return first ? [...before, first, ...remaining] : before
  }
  return [...before.slice(0, -1), { ...last, text: last.text + first.text }, ...remaining]
}
