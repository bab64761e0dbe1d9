// Parses the invitations in a mail (iCalendar, RFC 5545).
/** The limits on an iCalendar object, its lines and its values. */
const [maxOctets, maxLines, maxValueChars] = [256 * 1024, 4000, 500]
/** The members of an event, by the names of their properties. */
const properties: Readonly<Record<string, keyof CalendarEvent>> = {
  UID: 'uid',
  DTSTART: 'start',
  DTEND: 'end',
  ORGANIZER: 'organizer',
  SUMMARY: 'summary',
  LOCATION: 'location',
}

/**
 * Reads the first event of an iCalendar object, within limits. It returns undefined if there is no event. Reading an
 * invitation does not accept it.
 */
export function readCalendar(octets: Uint8Array): CalendarEvent | undefined {
  const lines = unfoldLines(Buffer.from(octets.subarray(0, maxOctets)).toString('utf8'))
  const start = lines.findIndex(line => /^BEGIN:VEVENT$/i.test(line))
  if (start < 0) return undefined
  const method = lines.find(line => /^METHOD:/i.test(line))?.slice('METHOD:'.length)
  const event: Partial<Record<keyof CalendarEvent, string>> = method
    ? { method: decodeTextValue(method).toUpperCase() }
    : {}
  for (const line of lines.slice(start + 1)) {
    if (/^(?:END:VEVENT|BEGIN:VALARM)$/i.test(line)) break
    readProperty(line, event)
  }
  return event
}

/** Joins folded lines: a line that begins with white space continues the previous one (RFC 5545 §3.1). */
function unfoldLines(text: string): string[] {
  return text
    .replace(/\r?\n[ \t]/g, '')
    .split(/\r?\n/, maxLines)
    .map(line => line.trim())
}

function readProperty(line: string, event: Partial<Record<keyof CalendarEvent, string>>): void {
  const match = /^([A-Z-]{1,20})((?:;(?:"[^"]*"|[^":;])*)*):(.*)$/i.exec(line.slice(0, maxValueChars * 4))
  const member = properties[match?.[1]?.toUpperCase() ?? '']
  if (!match || !member || event[member] !== undefined) return
  const timeZone = /;(TZID=[^;:]{1,100})/i.exec(match[2] ?? '')?.[1]
  const value = decodeTextValue(match[3] ?? '').replace(/^mailto:/i, '')
  event[member] = timeZone ? `${timeZone}:${value}` : value
}

/** Decodes the escapes of a text value (RFC 5545 §3.3.11). */
function decodeTextValue(value: string): string {
  return value
    .slice(0, maxValueChars)
    .replace(/\\n/gi, ' ')
    .replace(/\\([\\;,])/g, '$1')
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
}

/** An event of a `text/calendar` part (RFC 5545, RFC 5546), with the data that an agent needs to answer an invitation. */
export interface CalendarEvent {
  /** The method, such as `REQUEST`, `CANCEL` or `REPLY`. */
  readonly method?: string | undefined
  readonly uid?: string | undefined
  /**
   * The start in the spelling of the file: `20261121T100000Z`, or with a time zone
   * `TZID=Europe/Berlin:20261121T100000`.
   */
  readonly start?: string | undefined
  readonly end?: string | undefined
  readonly organizer?: string | undefined
  readonly summary?: string | undefined
  readonly location?: string | undefined
}
