/** Two columns wide where letters are one (Unicode Standard Annex 11, `W` and `F`). */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]/gu
/** No column of their own. */
const none = /[\p{Mn}\p{Me}\p{Cf}]/gu

/** Columns that a text takes in letters of one width. */
export function displayWidth(text: string): number {
  const seen = text.replace(none, '')
  return [...seen].length + (seen.match(wide)?.length ?? 0)
}
