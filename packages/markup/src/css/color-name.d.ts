// Declares the types of the package color-name.
declare module 'color-name' {
  /** Red, green and blue, 0 to 255, by the colour's name in lower case (CSS Color 4 §6.1). */
  const colours: Readonly<Record<string, readonly [number, number, number]>>
  export = colours
}
