// Recognizes the lines that mail programs add to a mail, such as "Sent from my iPhone".
import { escapePhrase, listPhrases } from './phrase-table.ts'
import { readVisibleLine } from './quoted-line.ts'

const maxLineChars = 160
/** The phrases of such lines, longest first. The sign `#` stands for the program or device. */
const phrases = listPhrases('device').toSorted((left, right) => right.length - left.length)
const frames = phrases.map(phrase => {
  const [prefix = '', suffix = ''] = phrase.split('#')
  return `${escapePhrase(prefix)}(.{2,80}?)${escapePhrase(suffix)}`
})
const framedPhrasePattern = new RegExp(`^(?:${frames.join('|')})$`, 'iu')

/** Matches names of programs and devices. In some languages a name has a suffix, or is part of a longer word. */
const devicePattern =
  /(?<!\p{L})(?:alcatel|cell|i(?:phon|pad|pod)\p{L}{0,6}|android|samsung|galaxy|huawei|honor|xiaomi|redmi|oppo|realme|oneplus|pixel|nokia|lumia|moto|motorola|sony|xperia|htc|lg|blackberry|outlook|hotmail|yahoo|gmail|aol|gmx|web\.de|freenet|t-online|proton|tuta|tutanota|posteo|fastmail|thunderbird|k-9|bluemail|edison|spark|airmail|newton|polymail|superhuman|mailbird|mailspring|em client|zoho|yandex|яндекс|mail\.ru|rambler|windows|surface|apple|mac|verizon|vodafone|telekom|orange|sfr|libero|virgilio|tiscali|laposte|typeapp|canary|hey|unibox|mailmate|boxer|ti-8\d|mail|e-?mail|mobile?|phone|smartphone|tablet|handy|mobilgerät|mobiltelefon|telefono|teléfono|téléphone|telefon|telefoon|celular|móvil|смартфон|телефон|планшет|(?:携帯|(?:小米|红米|华为|華為|荣耀|三星)?(?:手机|手機)|小米|红米|华为|華為|荣耀|三星)(?!\p{Script=Han})|스마트폰)(?![^\p{L}\p{N}]*[.:])/iu
/**
 * Matches the words that may stand between the names. All other words begin with a capital or a digit, or are in a
 * script without capitals.
 */
const connectingWordPattern =
  /^(?:a|an|the|my|for|appareil|dispositivo|gerät|toestel|enhed|enhet|laite|zařízení|urządzeni\p{L}{1,3}|eszköz\p{L}{0,4}|устройств\p{L}|on|with|using|via|and|app|application|mail|e-?mail|mobile?\p{L}{0,2}|phone|smartphone|tablet|device|handset|wireless|für|mit|der|dem|den|mein\p{L}{0,2}|von|pour|mon|ma|sur|avec|téléphone|para|desde|mi|con|el|la|de|do|da|meu|no|na|per|il|mio|dal|su|voor|mijn|op|met|för|min|til|for|na|pro|pre|dla|systemu|program|aplikac\p{L}{1,4}|telefon\p{L}{0,4}|için|cihaz\p{L}{0,4}|του|το|για|μου|на|для|з|с|моего|мого|pentru|pe|meu|saya|untuk|của|cho|uygulama\p{L}{0,4}|aplicación|aplicativo|applicazione|secure|free|мобильно\p{L}{1,2}|моя|tôi|ของฉัน|שלי|iOS-?\p{L}{0,3})$/iu
const nameStartPattern = /^[^\p{Ll}\p{P}]|^["'’„“(<-]|^i(?:Phon|Pad|Pod|OS)/u
const maxWords = 10

/** A line that a program may have added, and its position. */
interface AddedLine {
  readonly line: string
  /** True if other text is directly above the line. */
  readonly isBelowText: boolean
}

/**
 * Returns true if a program added the line. Such a line consists of a program's phrase and of names only. A person's sentence continues with other
 * words, or continues the line above.
 */
export function isDeviceLine({ line, isBelowText }: AddedLine): boolean {
  if (line.length > maxLineChars) return false
  const text = stripLinks(line).replace(/^[\s(<[*_]+|[\s)>\]*_.!]+$/gu, '')
  if (isBelowText && /^\p{Ll}/u.test(text)) return false
  const match = framedPhrasePattern.exec(readVisibleLine(text))
  const device = match?.slice(1).find(group => group !== undefined)
  return device !== undefined && namesDevice(device)
}

/** Removes the URLs that a program adds to its name, as text or in Markdown. */
function stripLinks(line: string): string {
  return line
    .replace(/\[([^[\]]{1,80})\]\(?[^()\s]{0,120}\)?/g, '$1')
    .replace(/\s?[<(]?https?:\/\/[^\s<>()]{1,140}[>)]?/g, '')
}

function namesDevice(text: string): boolean {
  const words = text.trim().split(/[\s,‑]+/)
  if (words.length > maxWords || !devicePattern.test(text)) return false
  return words.every(
    word => nameStartPattern.test(word) || connectingWordPattern.test(word) || devicePattern.test(word),
  )
}
